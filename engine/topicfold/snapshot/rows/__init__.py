"""Rows of a snapshot's tables, read from verified files into the columns that states are made of."""
