"""Diagnostics of judges and items: cards, confusions, second looks, and monitoring."""
