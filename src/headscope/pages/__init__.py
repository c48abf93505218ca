"""What the views are given: texts as a model saw them, atlases, and the single file."""
