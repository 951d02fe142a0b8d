"""Policies over HTTP: those of topics and of namespaces, made from the table of policies, and what takes effect."""
