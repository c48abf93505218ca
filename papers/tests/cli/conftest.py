"""What the command tests share with those of headscope: a model on disk, a corpus, an atlas, and a way to run it."""

from tests.cli.conftest import atlas_path, corpus, model, run

__all__ = ["atlas_path", "corpus", "model", "run"]
