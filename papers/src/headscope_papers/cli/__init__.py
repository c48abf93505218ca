"""The commands that headscope-papers adds: `headscope reproduce` and `headscope probe parser`."""
