"""Training: from a plan to a linker; encoders by gradients, the ranker by lists of candidates."""
