"""The loop: client, watch caches with indexes, work queue, leader election, events."""
