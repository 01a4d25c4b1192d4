"""Consensus of rankings and preferences: Borda, Plackett-Luce, Bradley-Terry."""
