"""Who may decide, and how a decision is written down, whatever the channel it came through."""
