"""Shapes that cross a process border: pydantic and the standard library only, so the worker image can carry a copy."""
