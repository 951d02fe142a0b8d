"""Enforcement: effective policies of topics, written into the configuration of their Kafka topics."""
