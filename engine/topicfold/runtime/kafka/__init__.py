"""Topics in Kafka: records and Kafka's topics are kept together, by whatever node is connected to the cluster."""
