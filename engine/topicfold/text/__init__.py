"""How numbers, times and JSON stand in text."""
