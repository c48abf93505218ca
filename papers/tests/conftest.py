"""What these tests share with those of headscope: how they are run, and a tiny model."""

from tests.conftest import (
    few_fits,
    no_log_lines,
    no_open_figures,
    one_command_line,
    pytest_configure,
    pytest_xdist_auto_num_workers,
    pytest_xdist_make_scheduler,
    tiny_folder,
)

__all__ = [
    "few_fits",
    "no_log_lines",
    "no_open_figures",
    "one_command_line",
    "pytest_configure",
    "pytest_xdist_auto_num_workers",
    "pytest_xdist_make_scheduler",
    "tiny_folder",
]
"""Hooks and fixtures, which pytest finds by their names."""
