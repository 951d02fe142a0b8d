"""The fold: what the log's prefix means. Pure; every node and every snapshot computes the same."""
