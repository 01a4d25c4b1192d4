"""Pure arithmetic over encoded judgments: no names, no files, no models."""
