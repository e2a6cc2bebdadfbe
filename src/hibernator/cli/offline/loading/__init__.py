"""From the names after `-f` to documents, each of which knows where it came from."""
