"""The live consensus: fitting a model to the judgments so far, beside the server, and reading its files."""
