"""adjudge."""
