"""One pure module per kind: what was gathered, and now, become writes, a status, a time and a why."""
