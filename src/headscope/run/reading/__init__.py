"""Reading a corpus: texts as a model is given them, made ahead of time, and a sample of its sentences."""
