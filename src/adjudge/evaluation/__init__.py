"""Search systems compared under uncertain labels."""
