"""Aggregation: every consensus model is two functions, run by one of two drivers."""
