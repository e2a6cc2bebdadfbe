"""What developers run: nothing here is installed."""
