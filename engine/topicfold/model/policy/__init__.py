"""Policies of topics: what each is, what it may hold, and which of its values takes effect."""
