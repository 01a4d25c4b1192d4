"""A campaign's folder: its files read, checked, made and shipped."""
