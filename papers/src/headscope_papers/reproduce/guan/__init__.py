"""Sections of Guan et al. 2020: what was published, and how ours is read from atlases."""
