"""One machine in place of an AWS account; imports chalicelib, never the reverse."""
