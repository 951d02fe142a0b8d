"""A real Kafka broker for tests: where its jars come from, its process, and one shared by a test session."""
