"""Texts through models: shards, who counts them, and what is kept of them."""
