"""Workloads in a cluster: how each kind sleeps and wakes."""
