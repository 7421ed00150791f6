"""The ranker: describes candidates in columns, and says how probable each of them is."""
