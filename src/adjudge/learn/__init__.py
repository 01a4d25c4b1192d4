"""Learning from the crowd: what each example is worth, and rankers that know it."""
