"""States at rest: the tables of a snapshot, its commits, and who may write the next one. Needs no Spark."""
