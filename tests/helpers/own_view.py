"""The view of the guide (docs/guide/extending.md, "A view"), registered by being imported."""

import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "extending.md"
SECTION = GUIDE.read_text(encoding="utf-8").partition("\n## A view\n")[2]
CODE = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)[0]
NAMESPACE: dict[str, object] = {"__name__": __name__}
exec(CODE, NAMESPACE)
