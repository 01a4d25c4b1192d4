"""What judges do: assignment of items, commands, grading, the views of their pages, and how people come in."""
