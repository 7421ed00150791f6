"""Named projects of curators: sources, mentions, answers, marks and what becomes of them."""
