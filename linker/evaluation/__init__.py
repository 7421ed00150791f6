"""Evaluating models and predictions: protocols, figures and reports."""
