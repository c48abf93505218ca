"""The result of a run: labelled arrays in one self-describing file."""

from headscope.atlas.atlas import Atlas, Results, open_atlas
from headscope.atlas.examples import Example
from headscope.atlas.files import check_writable, replacing
from headscope.atlas.typical import Typical

__all__ = ["Atlas", "Example", "Results", "Typical", "check_writable", "open_atlas", "replacing"]
