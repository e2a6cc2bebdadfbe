"""The `hibernator` command, also installed as `kubectl-hibernator`."""
