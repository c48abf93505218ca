"""The result of a run: labelled arrays in one self-describing file."""

from headscope.atlas.atlas import Atlas, open_atlas
from headscope.atlas.files import Results, check_writable, replacing
from headscope.atlas.saving import update
from headscope.atlas.sentences import Example, Typical

__all__ = ["Atlas", "Example", "Results", "Typical", "check_writable", "open_atlas", "replacing", "update"]
