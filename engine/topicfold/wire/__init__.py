"""What goes over HTTP, for server and client: names of headers, and shapes of JSON."""
