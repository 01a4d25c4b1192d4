"""Twins of the modules in adjudge.score."""
