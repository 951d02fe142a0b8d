"""Topics' policies: what each one is, which values it may have, and which of its values takes effect."""
