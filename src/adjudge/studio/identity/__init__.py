"""Who may come in, and how often: passwords, seals, tokens, codes, limits, crowds from outside."""
