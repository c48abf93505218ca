"""Sections of Clark et al. 2019: what was published, and how ours is read from atlases."""
