"""AWS: its accounts, and how what lives there sleeps and wakes."""
