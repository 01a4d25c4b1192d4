"""The studio: judgments collected with quality control, and none lost."""
