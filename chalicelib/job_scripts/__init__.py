"""The Python files every job gets unchanged. They are data here: read as text, never imported by the platform."""
