"""The result of a run: labelled arrays in one self-describing file."""

from headscope.atlas.atlas import Atlas, open_atlas
from headscope.atlas.files import check_writable, replacing

__all__ = ["Atlas", "check_writable", "open_atlas", "replacing"]
