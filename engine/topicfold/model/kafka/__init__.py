"""What records have to do with the topics of a Kafka cluster: names there, adoption, and steps left to do."""
