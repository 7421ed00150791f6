"""The list-wise ranker: candidate lists with relevance, and the training of an encoder on them."""
