"""Training of dense encoders: options, losses, batches, checkpoints and the one loop."""
