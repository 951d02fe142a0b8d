"""The snapshot as Delta tables: published, merged, cleaned up, and put right where somebody else changed them."""
