"""Connections: what is read from and written to them, how much at once, and what a node does as resources run out."""
