"""One module per concern; each holds pure, lazy functions from a snapshot to findings. domain/validation.py lists them."""
