"""Sequences: one function per use case; ports are keyword arguments."""
