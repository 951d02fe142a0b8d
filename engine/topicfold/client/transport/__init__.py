"""How requests travel: connections, retries, what is remembered between them, and what a silence means."""
