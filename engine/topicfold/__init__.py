"""Topicfold: labels and policies for Kafka topics, folded from one log of change events."""

__version__ = "0.1.0"
