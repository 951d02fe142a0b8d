"""One slice of a batch, folded in columns: the same fold as `state`. Pure, but for its files."""
