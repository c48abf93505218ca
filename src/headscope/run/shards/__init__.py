"""Shards of a run: kept in a folder, turned into bytes, counted by the workers of a cluster, and merged."""
