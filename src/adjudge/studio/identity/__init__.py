"""Who may come in and how often: passwords, signed sessions, API tokens, rate limits, crowdsourcing platforms."""
