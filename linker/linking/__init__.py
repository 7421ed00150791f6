"""What happens to a mention: readings, candidates, matches, ranker, decisions, prediction."""
