"""A second run in a folder is refused at once: the first may take days."""

import time
from pathlib import Path
from typing import NoReturn

import pytest

from headscope.errors import OptionError
from headscope.passes.checkpoint import checkpoint


def test_nobody_waits_for_another_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def waits(seconds: float) -> NoReturn:
        raise AssertionError(f"it waits for {seconds} s")

    with checkpoint(tmp_path):
        monkeypatch.setattr(time, "sleep", waits)
        with pytest.raises(OptionError, match="another run is at work"), checkpoint(tmp_path):
            pass
