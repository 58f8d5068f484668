"""Everything that runs inside Lambda."""
