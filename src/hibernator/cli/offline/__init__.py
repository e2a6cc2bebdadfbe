"""The commands that need no cluster: they read files, ask the time engine, and show what it says."""
