"""The command line: main.py only adds, and each command has its own file."""
