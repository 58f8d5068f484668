"""Doors: one blueprint per noun; parse, call one use case, return."""
