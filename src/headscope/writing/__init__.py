"""What heads write: direct effects on the output, the tokens they raise and lower, copying and composition."""

from headscope.writing.result import WritesResult
from headscope.writing.run import writes

__all__ = ["WritesResult", "writes"]
