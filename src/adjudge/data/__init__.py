"""Tables in and out: reading, encoding, writing, simulating, and the data that ship with the package."""
