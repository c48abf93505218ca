"""Reading pages that headscope wrote."""

import json
import re
import zlib
from base64 import b64decode
from typing import Any


def embedded_data(page: str) -> Any:
    """What a page holds for its scripts."""
    [(kind, data)] = re.findall(r'<script type="([^"]*)" id="headscope-data">([^<]*)</script>', page)
    if kind == "application/json":
        return json.loads(data)
    return json.loads(zlib.decompress(b64decode(data), -zlib.MAX_WBITS))
