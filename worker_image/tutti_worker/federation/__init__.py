"""Components that NVFLARE loads inside its own processes."""
