"""Builders, fixtures and real peers for tests."""
