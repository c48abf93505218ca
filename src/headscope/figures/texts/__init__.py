"""Pictures of texts: sentences with arcs, attention maps, and all heads on one text."""
