"""Heads compared with each other: their kinds, their neighbours and their map."""
