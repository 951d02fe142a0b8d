"""Finding over HTTP: the query in a request, pages and whole answers, topics as they were, and why nothing is found."""
