"""Measures: agreement of judges, scores of labels, probabilities and rankings, and checks of models."""
