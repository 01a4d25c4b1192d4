"""What the judgments so far say, worked out beside the server."""
