"""Benchmarks: what Topicfold costs, always beside something else run in the same minute.

`scripts/bench` runs them. One small module for each; a module's `run` takes a `Site` and yields rows.
"""
