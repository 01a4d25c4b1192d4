"""Quality gates: what work must reach, whom a gate refuses, what one more judgment tells."""
