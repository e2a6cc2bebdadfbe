"""The trail: every transition of every kind, who caused it, and proof that no one changed it since."""
