"""Other libraries' names over ours: change an import, keep the code."""
