"""The object store of tests/adapters, for this room as well."""

from tests.adapters.conftest import seaweed

__all__ = ["seaweed"]
