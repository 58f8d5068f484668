"""What the API answers, as frozen dataclasses. Sizes in bytes, times with their zone."""
