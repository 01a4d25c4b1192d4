"""The study of paper 004: weights from a crowd for a ranker."""
