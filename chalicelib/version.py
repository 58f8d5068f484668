"""The version of Tutti, in one place."""

VERSION = "0.1.0"
