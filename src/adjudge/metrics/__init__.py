"""Evaluation: how good answers are where the truth is known."""
