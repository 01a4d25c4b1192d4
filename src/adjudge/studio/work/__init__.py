"""What judges do: assignment, commands, what they are shown; and judges who do not exist."""
