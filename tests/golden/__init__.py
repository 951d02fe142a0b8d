"""A recorded log and the digests that every version must fold it to; `record` made it, `replay` folds it."""
