"""Hibernator puts clusters to sleep and wakes them, by the clock and by consent."""

__version__ = "0.1.0"
