"""Reports on a fit: one HTML page, its figures, and what to do."""
