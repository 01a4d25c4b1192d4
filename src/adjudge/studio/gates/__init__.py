"""Quality gates: the verdict on work, error rates of gates, gold sets that work, and expected information."""
