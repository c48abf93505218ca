"""The relations probe: attention between predicates and their arguments against pairs at the same distance."""
