"""The process that people outside of the cluster reach: log-in, and pages on which they decide."""
