"""The view of the guide (docs/guide/extending.md, "A view")."""

import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "extending.md"
SECTION = GUIDE.read_text(encoding="utf-8").partition("\n## A view\n")[2]
CODE = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)[0]


def register() -> None:
    """Run the guide's code, which registers its view as most_read."""
    exec(CODE, {"__name__": __name__})
