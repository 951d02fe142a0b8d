"""What goes over HTTP, for both ends: names of headers, shapes of problems."""
