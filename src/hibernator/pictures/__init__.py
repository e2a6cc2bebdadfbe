"""Timelines for people and programs: in the terminal, as a picture, as a calendar, as JSON."""
