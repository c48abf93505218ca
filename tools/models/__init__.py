"""The sweep: every model type of transformers that reads text, tiny and random, put through headscope."""
