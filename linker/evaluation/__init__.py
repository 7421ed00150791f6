"""Evaluating models and predictions: protocols, breakdowns, tasks and reports."""
