"""Decisions: pure functions over contracts; no clock, no network, no environment."""
