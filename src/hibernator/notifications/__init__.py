"""Sends what happened, as the audit trail has it, to where people look."""
