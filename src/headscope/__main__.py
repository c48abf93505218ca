"""`python -m headscope`: the command line, where its script is not on the path."""

from headscope.cli.main import run

run()
