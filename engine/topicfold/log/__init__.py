"""The ordered log of change events, behind one port; one adapter per technology."""
