"""What leads see and do: numbers, rulings, exports, imports, prompts."""
