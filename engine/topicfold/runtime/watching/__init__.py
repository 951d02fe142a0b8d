"""Watching topics. The engine has the `Watches` of a node, the server makes a `Watcher` for each stream."""
