"""Judging predictions: protocols, breakdowns, tasks and reports."""
