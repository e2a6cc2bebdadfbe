"""What each person should be shown about a request, and the channels that show it."""
