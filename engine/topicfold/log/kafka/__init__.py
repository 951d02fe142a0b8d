"""The log on Kafka: `KafkaLog` keeps the promises of the log's port, the other modules are its parts."""

from topicfold.log.kafka.log import KafkaLog

__all__ = ["KafkaLog"]
