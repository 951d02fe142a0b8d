"""The past: each change of a record, the record as it was, its return, and the topics of then."""
