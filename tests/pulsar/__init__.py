"""Pulsar's own admin clients, unchanged, for tests: the Java tool and the package from npm, and what they must say."""
