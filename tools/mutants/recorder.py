"""A pytest plugin that writes down what each test file did: `pytest -p tools.mutants.recorder`.

HEADSCOPE_RECORD names a folder. `reports.jsonl` there has one line per test that ended, as it ends, so that a run that
is killed leaves what it knew. Test files run in the order in which they are named, and with HEADSCOPE_RECORD_ENOUGH=8
no other file begins once tests of eight files failed. HEADSCOPE_RECORD_BEGIN are tests, a line each, that are run
before all others. With HEADSCOPE_RECORD_LINES=1 there is also, in one
`lines.<process>` file of coverage.py per process, which lines of the package every test file executed, and in
`seconds.<process>.json` how long a core was busy with it: the map of lines is made of these.
"""

import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import pytest

RECORD = "HEADSCOPE_RECORD"
LINES = "HEADSCOPE_RECORD_LINES"
ENOUGH = "HEADSCOPE_RECORD_ENOUGH"
BEGIN = "HEADSCOPE_RECORD_BEGIN"
FIXTURE = "fixture "
"""How the context of a session's fixture begins: every file that uses the fixture depends on its lines."""


def pytest_configure(config: pytest.Config) -> None:
    """Add what is asked for: reports where tests are counted, lines where they run."""
    folder = Path(os.environ[RECORD])
    is_worker = hasattr(config, "workerinput")
    if not is_worker:
        config.pluginmanager.register(Reports(folder / "reports.jsonl", int(os.environ.get(ENOUGH, "0"))))
    if os.environ.get(LINES) and (is_worker or not config.getoption("numprocesses", None)):
        config.pluginmanager.register(Lines(folder, config.rootpath / "src" / "headscope"))


class Reports:
    """One line per phase of a test that ended, and per file that could not be collected."""

    def __init__(self, path: Path, enough: int) -> None:
        self._stream: TextIO = path.open("a", encoding="utf-8")
        self._enough = enough
        self._failed: set[str] = set()

    def _write(self, **values: object) -> None:
        self._stream.write(json.dumps(values) + "\n")
        self._stream.flush()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Files in the order in which they were named, where they were; before them the tests that are to begin."""
        order = {name: place for place, name in enumerate(config.args)}
        if {_file_of(item) for item in items} <= order.keys():
            items.sort(key=lambda item: order[_file_of(item)])
        if begin := set(filter(None, os.environ.get(BEGIN, "").split("\n"))):
            items.sort(key=lambda item: item.nodeid not in begin)

    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """No other file, once enough have failed."""
        is_last = nextitem is None or _file_of(nextitem) != _file_of(item)
        if self._enough and is_last and len(self._failed) >= self._enough:
            item.session.shouldstop = f"tests of {len(self._failed)} files failed"

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Which test begins: where a run hangs, this is the last line."""
        self._write(begins=nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One phase of a test: set-up, call or tear-down."""
        self._write(test=report.nodeid, phase=report.when, outcome=report.outcome, seconds=report.duration)
        if report.failed:
            self._failed.add(report.nodeid.partition("::")[0])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be read fails as a whole."""
        if report.failed:
            self._write(test=report.nodeid, phase="collect", outcome="failed", seconds=0)


class Lines:
    """Which lines every test file executes, by contexts of coverage.py.

    What tests remember for each other (results of `functools.cache`) is forgotten between files: otherwise only the
    first file that needs a result would seem to execute the lines that make it.
    """

    def __init__(self, folder: Path, source: Path) -> None:
        from coverage import Coverage  # noqa: PLC0415  (only to make the map)

        self._coverage = Coverage(
            data_file=folder / f"lines.{os.getpid()}",
            source=[str(source)],
            config_file=False,
            concurrency="thread",
        )
        self._coverage.start()
        self._context = ""
        self._seconds: dict[str, float] = defaultdict(float)
        self._seconds_path = folder / f"seconds.{os.getpid()}.json"
        self._uses: set[tuple[str, str]] = set()
        self._uses_path = folder / f"fixtures.{os.getpid()}.json"

    def _switch(self, context: str) -> str:
        before, self._context = self._context, context
        self._coverage.switch_context(context)
        return before

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        """A test belongs to its file."""
        file, started = _file_of(item), sum(os.times()[:4])
        if file != self._context:
            _forget()
            self._switch(file)
        self._uses.update((file, name) for name in item.fixturenames)  # type: ignore[attr-defined]
        result = yield
        self._seconds[file] += sum(os.times()[:4]) - started
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[Any]:
        """What is made once for all files is a context of its own."""
        if fixturedef.scope != "session":
            return (yield)
        before = self._switch(FIXTURE + fixturedef.argname)
        try:
            return (yield)
        finally:
            self._switch(before)

    def pytest_sessionfinish(self) -> None:
        """Write the lines down."""
        self._coverage.stop()
        self._coverage.save()
        self._uses_path.write_text(json.dumps(sorted(self._uses)), encoding="utf-8")
        self._seconds_path.write_text(json.dumps(self._seconds), encoding="utf-8")


def _file_of(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def _forget() -> None:
    """Clear every cache of a function of the package and of the tests."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] in ("headscope", "tests"):
            for value in list(vars(module).values()):
                if callable(clear := getattr(value, "cache_clear", None)):
                    clear()
