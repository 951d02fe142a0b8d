"""The topics of a Kafka cluster that topic records stand for, behind one port; one adapter per technology."""
