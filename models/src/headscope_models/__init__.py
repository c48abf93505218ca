"""Where the demo models lie: plain Hugging Face folders with safetensors weights and a card each."""

from pathlib import Path

NAMES = ("demo", "demo-mrpc", "demo-qa", "demo-lm")


def path(name: str) -> Path:
    """The folder of one demo model."""
    if name not in NAMES:
        raise KeyError(f"there is no demo model called {name!r}; choose from {', '.join(NAMES)}")
    return Path(__file__).parent / name
