"""Measurements of the running product. They print ratios: seconds of a shared machine mean little."""
