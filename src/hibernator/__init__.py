"""Hibernator puts clusters to sleep and wakes them, by the clock and with approval."""

__version__ = "0.1.0"
