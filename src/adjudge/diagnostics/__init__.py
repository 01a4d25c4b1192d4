"""Judges and items, looked at closely: cards, confusions, and what deserves a second look."""
