"""The probability that an answer is right, and the reasons for it."""
