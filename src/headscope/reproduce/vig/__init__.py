"""Sections of Vig 2019: what was published, and how ours is read from atlases."""
