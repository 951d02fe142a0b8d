"""Writing: changes as updates of one aggregate, their queues, and what their events decide."""
