"""Search systems evaluated with uncertain labels."""
