"""The trail: every transition of every kind, who caused it, and proof that nobody changed it since."""
