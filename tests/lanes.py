"""Which tests `make test` leaves to `make test-all`: those that take long and that few changes need.

`make test` passes -m "not nightly"; the mark is put on here, by the names of tests. Whoever names a file or a test
(`pytest tests/cli/test_killed.py`, `make near`, `make mutants`) gets it, whatever its lane.
"""

import re
from dataclasses import dataclass

import pytest

MARK = "nightly"


@dataclass(frozen=True)
class Group:
    """Tests that are left out for one reason. In a name, * stands for anything; nothing else is special."""

    title: str
    names: tuple[str, ...]
    kept: tuple[str, ...] = ()
    """Those of them that `make test` runs."""


BROWSER = "tests/browser"
JOURNEYS = (
    f"{BROWSER}/test_every_view.py::test_the_views_of_a_text_from_the_server[demo-encoder]",
    f"{BROWSER}/test_every_view.py::test_the_views_of_a_text_from_a_file[t5-cross]",
    f"{BROWSER}/test_every_view.py::test_atlas_and_map_from_a_file",
    f"{BROWSER}/test_every_view.py::test_atlas_map_and_try_it_from_the_server",
    f"{BROWSER}/test_head_pages.py::test_a_page_begins_with_what_the_head_does_and_shows_it_at_work",
    f"{BROWSER}/test_report.py::test_the_first_screen_and_the_length",
    f"{BROWSER}/test_beside.py::test_the_same_head_on_one_scale",
    f"{BROWSER}/test_edits.py::test_the_matrix_shows_before_after_and_difference",
    f"{BROWSER}/test_try_it.py::test_predictions_before_and_after",
    f"{BROWSER}/test_find.py::test_a_head_is_found_by_drawing",
    f"{BROWSER}/test_links.py::test_a_copied_link_restores_the_view",
    f"{BROWSER}/test_strange_tokens.py::test_an_atlas_file",
)
"""One journey for each view or page, from a file and from the server, on an encoder and on cross attention; one of a
link, and one of markup in an atlas."""

TYPES = "tests/models/test_types.py::test_{}[{}]"
CHECKPOINTS = "tests/contract/test_analyses.py::test_a_stopped_run_goes_on_and_gives_the_same_bits"
INTERPRETED = "tests/kernels/test_fused.py::test_the_kernel_gives_what_attention_in_float64_gives"

GROUPS = (
    Group("browser journeys", (f"{BROWSER}/*",), JOURNEYS),
    Group(
        "notebooks",
        ("tests/examples/test_notebooks.py::test_what_is_stored_is_what_running_it_gives*",),
    ),
    Group(
        "kill, resume and Ray",
        (
            "tests/cli/test_killed.py::*",
            "tests/passes/test_ray.py::*",
            "tests/contract/test_ray.py::*",
            f"{CHECKPOINTS}*",
            "papers/tests/parser/test_runs.py::test_a_stopped_run_*",
        ),
        (f"{CHECKPOINTS}[analyze]", f"{CHECKPOINTS}[dependency]"),
    ),
    Group(
        "more architectures",
        (
            *(TYPES.format(name, "*") for name in ("nothing_is_wrong*", "the_table_says*")),
            "tests/cli/test_every_command.py::*[gemma3-*",
            "tests/cli/test_every_command.py::*[qwen3-*",
            "papers/tests/cli/test_every_command.py::test_a_command_gives_a_result[gemma3-*",
            "papers/tests/cli/test_every_command.py::test_a_command_gives_a_result[qwen3-*",
        ),
        tuple(TYPES.format("*", name) for name in ("bert", "gpt2", "llama", "t5", "mpnet")),
    ),
    Group(
        "kernels for a GPU, interpreted, and compiled loops built anew",
        (
            "tests/kernels/test_verify.py::*[triton*",
            f"{INTERPRETED}*",
            "tests/kernels/test_templates_kernel.py::test_templates_products_and_sizes*",
            "tests/kernels/test_loops.py::test_what_is_compiled_here_rounds_as_what_is_read_from_the_cache",
        ),
        (
            "tests/kernels/test_verify.py::test_every_measure_is_the_same_by_kernels_and_by_the_models_own_function[*triton*]",
            *(f"{INTERPRETED}[{case}]" for case in ("plain", "causal", "grouped", "mask", "one token")),
            "tests/kernels/test_templates_kernel.py::test_templates_products_and_sizes[encoder-plain]",
        ),
    ),
    Group(
        "many random draws",
        (
            "tests/facts/test_noise.py::test_no_probe_finds_anything*",
            "tests/server/test_openapi.py::test_every_route_keeps_to_its_description*",
        ),
        (
            "tests/facts/test_noise.py::test_no_probe_finds_anything[*-0]",
            "tests/server/test_openapi.py::test_every_route_keeps_to_its_description[named]",
        ),
    ),
    Group(
        "papers, of several models",
        (
            "papers/tests/cli/test_reproduce.py::test_all_papers_on_one_page",
            "papers/tests/cli/test_reproduce.py::test_*_of_several_models*",
            "papers/tests/cli/test_reproduce.py::test_kovaleva2019_of_two_models",
            "papers/tests/parser/test_runs.py::test_results_by_what_heads_move_stand_beside_those_by_looking",
            "papers/tests/reproduce/guan/test_effects.py::test_kinds_of_a_model_are_pruned_made_uniform_and_masked",
            "papers/tests/reproduce/test_clark2019.py::test_coreference_and_parsers_of_a_model",
            "papers/tests/reproduce/test_everything.py::test_papers_share_one_study",
            "papers/tests/reproduce/test_kovaleva2019.py::test_each_task_is_for_its_own_model",
        ),
    ),
    Group(
        "without extras",
        (
            "tests/test_import.py::test_extras_that_are_not_installed_are_not_missed",
            "tests/test_import.py::test_an_analysis_does_without_numba",
        ),
    ),
)
"""What is left out, and why these and no others: CONTRIBUTING.md, "Two lanes"."""


def matches(name: str, pattern: str) -> bool:
    """Whether a test has a name of this pattern."""
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), name) is not None


def group_of(nodeid: str) -> Group | None:
    """The group that a test is left out with; None for one that `make test` runs."""
    for group in GROUPS:
        if any(matches(nodeid, pattern) for pattern in group.names):
            return None if any(matches(nodeid, pattern) for pattern in group.kept) else group
    return None


class Lanes:
    """A pytest plugin: marks the tests of the groups, and says at the end what a run left out."""

    def __init__(self) -> None:
        self.left_out: dict[str, int] = {}
        """Tests by title of their group."""

    @pytest.hookimpl(tryfirst=True)  # before pytest leaves out by marks
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            if group_of(item.nodeid):
                item.add_marker(MARK)

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        for item in items:
            if MARK in item.config.option.markexpr and (group := group_of(item.nodeid)):
                self.left_out[group.title] = self.left_out.get(group.title, 0) + 1

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A worker of xdist tells the process that prints; every one of them collects all tests."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[MARK] = self.left_out

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        self.left_out = getattr(node, "workeroutput", {}).get(MARK, self.left_out)

    def line(self) -> str:
        """What was left out, in one line; empty if nothing was."""
        if not self.left_out:
            return ""
        groups = "; ".join(f"{title}: {count}" for title, count in self.left_out.items())
        return f"Left out of this lane: {sum(self.left_out.values())} tests ({groups}). `make test-all` runs them."

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if line := self.line():
            terminalreporter.write_line(line)
