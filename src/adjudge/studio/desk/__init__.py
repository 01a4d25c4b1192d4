"""What leads see and do: numbers, decisions, exports, imports, prompts."""
