"""Files of a snapshot: how they are written, found, verified and read, and what their failures mean."""
