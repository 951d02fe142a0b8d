"""Real processes, real logs, real faults."""
