"""Consuming the topics that match. `LabelConsumer` is the one thing here that others use."""
