"""Google Cloud: its projects, and how what lives there sleeps and wakes."""
