"""The interfaces of other libraries, computed by adjudge: change an import and keep the code."""
