"""Snapshots on disk: their tables and commits, and who may write the next commit. Needs no Spark."""
