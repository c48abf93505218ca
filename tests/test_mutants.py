"""The mutants are in order, and what chooses and runs their tests does what it says."""

import json
import textwrap
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tools.mutants import catalogue, draw, linemap, matrix, near
from tools.mutants.catalogue import ROOT, Mutant
from tools.mutants.trees import Tree

SOURCE = "src/headscope/stats/sample.py"
CODE = '''\
"""A file."""

LEAST = 2


def smaller(first, second):
    """The smaller."""
    if first < second:
        return first
    return second


def larger(first, second):
    """The larger."""
    return -smaller(-first, -second)
'''
FAULT = Mutant(
    "fault", SOURCE, "    if first < second:", "    if first > second:", "The larger is given.", "hand"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository of one source file and two test files, of which one looks at one function alone."""
    written = {
        "src/headscope/__init__.py": "",
        "src/headscope/stats/__init__.py": "",
        SOURCE: CODE,
        "tests/stats/test_sample.py": """\
            from headscope.stats.sample import larger, smaller

            def test_smaller():
                assert smaller(1, 2) == 1

            def test_larger():
                assert larger(1, 2) == 2

            def test_of_equals():
                assert smaller(1, 1) == 1
            """,
        "tests/stats/test_weak.py": """\
            from headscope.stats.sample import smaller

            def test_something_comes():
                assert smaller(1, 2) in (1, 2)
            """,
    }
    for name, text in written.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return tmp_path / "tree"


def known(**changes: object) -> linemap.LineMap:
    """A map in which one file executes all of the sample, and another one a function."""
    inside = linemap.functions(CODE)
    sources = {
        SOURCE: {
            function.name: (function.hash, [[2, function.last - function.first, place]])
            for place, function in enumerate(inside)
        }
    }
    data = {
        "tests": ["tests/stats/test_sample.py", "tests/stats/test_weak.py", "tests/run/test_far.py"],
        "seconds": [1.0, 1.0, 100.0],
        "failing": [],
        "sets": ["7", "1"],
        "sources": sources,
    }
    return linemap.LineMap(data | changes)


NO_RULES = linemap.ByHand((), (), ())


def test_each_snippet_occurs_once_and_each_file_can_be_read_with_the_fault() -> None:
    assert catalogue.problems(catalogue.read()) == []


def test_there_are_as_many_random_mutants_in_every_folder() -> None:
    counts = {
        folder: sum(mutant.folder == folder and mutant.by == "random" for mutant in catalogue.read())
        for folder in draw.folders()
    }
    assert len(set(counts.values())) == 1, counts


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"old": "return first"}, "0 times"),
        ({"old": "second", "new": "first"}, "times"),
        ({"new": "    if first > second"}, "cannot be read"),
        ({"new": "    if first  <  second:"}, "says the same"),
        ({"file": "src/headscope/stats/none.py"}, "no file"),
        ({"why": ""}, "why"),
        ({"by": "chance"}, "hand or random"),
        ({"new": "\n" * 20 + "    if first > second:"}, "12 lines"),
    ],
)
def test_what_is_wrong_with_a_mutant_is_told(root: Path, change: dict[str, str], says: str) -> None:
    text = (root / SOURCE).read_text().replace("        return first\n", "        return 0 + first\n")
    (root / SOURCE).write_text(text)
    assert catalogue.problems([FAULT], root) == []
    [problem] = catalogue.problems([replace(FAULT, **change)], root)
    assert "fault" in problem
    assert says in problem


def test_ids_are_unique() -> None:
    assert "used 2 times" in catalogue.problems([FAULT, FAULT])[0]


def test_lines_are_those_that_change() -> None:
    assert FAULT.lines(CODE) == [8]
    wide = replace(
        FAULT, old=CODE[CODE.index("    if") :], new=CODE[CODE.index("    if") :].replace("-first", "first")
    )
    assert wide.lines(CODE) == [15]
    gone = replace(FAULT, old="        return first\n    return second\n", new="    return second\n")
    assert gone.lines(CODE) == [9]


def test_tests_are_those_that_execute_the_lines() -> None:
    both, one = {"tests/stats/test_sample.py", "tests/stats/test_weak.py", "tests/run/test_far.py"}, 15
    assert known().executing(SOURCE, CODE, [8]) == both
    assert known().executing(SOURCE, CODE, [one]) == {"tests/stats/test_sample.py"}
    moved = CODE.replace("LEAST = 2", "LEAST = 2\nMOST = 3")
    assert known().executing(SOURCE, moved, [one + 1]) == {"tests/stats/test_sample.py"}


def test_of_a_constant_all_tests_of_the_file_count() -> None:
    assert len(known().executing(SOURCE, CODE, [3])) == 3


def test_of_a_function_that_was_edited_all_its_tests_count() -> None:
    two = {"larger": [linemap.functions(CODE)[1].hash, [[2, 2, 1], [3, 3, 0]]]}
    edited = CODE.replace("return -smaller(-first, -second)", "return -smaller(-second, -first)")
    assert len(known(sources={SOURCE: two}).executing(SOURCE, CODE, [15])) == 1
    assert len(known(sources={SOURCE: two}).executing(SOURCE, edited, [15])) == 3


def test_the_nearest_tests_come_first_and_the_budget_bounds_the_others(root: Path) -> None:
    far = root / "tests/run/test_far.py"
    far.parent.mkdir()
    far.write_text("")
    choice = linemap.TestChoice(known(), NO_RULES, root)
    near_ones = ("tests/stats/test_sample.py", "tests/stats/test_weak.py")
    assert choice.tests_of(SOURCE, [8], most=9, budget=200).tests == (*near_ones, "tests/run/test_far.py")
    chosen = choice.tests_of(SOURCE, [8], most=9, budget=50)
    assert (chosen.tests, chosen.left_out) == (near_ones, 1)
    quick = linemap.TestChoice(known(seconds=[1.0, 2.0, 0.1]), NO_RULES, root)
    assert quick.tests_of(SOURCE, [8], most=9, budget=200).tests == (*near_ones, "tests/run/test_far.py")


def test_the_test_file_of_the_same_name_is_always_among_them(root: Path) -> None:
    choice = linemap.TestChoice(known(sources={}), NO_RULES, root)
    assert choice.tests_of(SOURCE, [8], most=0, budget=0).tests == ("tests/stats/test_sample.py",)


def test_rules_add_tests_and_leave_others_out(root: Path) -> None:
    rules = linemap.ByHand(("*/test_sample.py",), (), (("src/*", ("*/test_w*",)),))
    choice = linemap.TestChoice(known(sources={}), rules, root)
    assert choice.tests_of(SOURCE, [8], most=9, budget=9).tests == ("tests/stats/test_weak.py",)


def run_in(
    root: Path, mutant: Mutant, *, enough: int = 0, first: bool = False, begin: tuple[str, ...] = ()
) -> dict[str, list[str]]:
    """The failing tests of a mutant, by test file, in a tree that has the recorder beside it."""
    choice = linemap.TestChoice(known(), NO_RULES, root)
    tests = [test for test in known().tests if (root / test).is_file()]
    with pytest.MonkeyPatch.context() as patch, closing(Tree(root)) as tree:
        paths = f"{root / 'src'}:{ROOT}"
        patch.setattr(
            "tools.mutants.trees.environment", lambda at: {"PYTHONPATH": paths, "PATH": "/usr/bin:/bin"}
        )
        with tree.changed(mutant.file, mutant.applied((root / mutant.file).read_text())):
            return matrix.Runner(choice, enough=enough).failing(tree, tests, first=first, begin=begin)


def test_a_run_tells_which_tests_of_which_file_fail_and_leaves_the_tree_as_it_was(root: Path) -> None:
    failing = run_in(root, FAULT)
    assert failing == {
        "tests/stats/test_sample.py": ["test_smaller", "test_larger"],
        "tests/stats/test_weak.py": [],
    }
    assert (root / SOURCE).read_text() == CODE


def test_what_numba_compiled_is_there_again_after_a_fault_and_not_within(root: Path) -> None:
    kept = root / "src/headscope/stats/__pycache__/other.smaller-1.py311.nbi"
    kept.parent.mkdir(exist_ok=True)
    kept.write_text("faultless")
    before = (root / SOURCE).stat().st_mtime_ns
    with closing(Tree(root)) as tree:
        with tree.changed(SOURCE, f"import numba\n{CODE}"):
            assert not kept.exists()
            kept.write_text("of the fault")
            kept.with_name("another.nbc").write_text("of the fault")
        assert kept.read_text() == "faultless"
        assert not kept.with_name("another.nbc").exists()
        assert (root / SOURCE).stat().st_mtime_ns == before  # by which numba tells sources apart


def test_a_slow_test_file_comes_behind_one_that_is_farther_away(root: Path) -> None:
    far = root / "tests/run/test_far.py"
    far.parent.mkdir()
    far.write_text("")
    choice = linemap.TestChoice(known(seconds=[1.0, 50.0, 5.0]), NO_RULES, root)
    assert choice.tests_of(SOURCE, [8], most=9, budget=200).tests == (SAMPLE, "tests/run/test_far.py", WEAK)


def test_once_enough_files_fail_no_other_begins(root: Path) -> None:
    assert run_in(root, FAULT, enough=1) == {"tests/stats/test_sample.py": ["test_smaller", "test_larger"]}


def test_a_fault_with_which_nothing_can_be_loaded_is_caught_by_all(root: Path) -> None:
    failing = run_in(root, replace(FAULT, old="LEAST = 2", new="LEAST = 2 / 0"))
    assert list(failing.values()) == [["(collection)"]] * 2


def test_a_process_that_dies_names_the_file_in_which_it_did(root: Path) -> None:
    dies = replace(
        FAULT, old="        return first\n    return", new="        import os; os.abort()\n    return"
    )
    failing = run_in(root, dies)
    assert failing["tests/stats/test_sample.py"] == [matrix.CRASHES]
    assert failing["tests/stats/test_weak.py"] == [matrix.CRASHES]


def planned(root: Path, mutant: Mutant = FAULT) -> matrix.Planned:
    choice = linemap.TestChoice(known(), NO_RULES, root)
    [plan] = matrix.plan([mutant], choice, most=9, budget=50)
    return plan


SAMPLE, WEAK = "tests/stats/test_sample.py", "tests/stats/test_weak.py"


def test_what_was_run_is_not_run_again_until_snippet_or_test_change(root: Path, tmp_path: Path) -> None:
    plan, hashes = planned(root), {SAMPLE: "a", WEAK: "b"}
    results = matrix.Results(tmp_path / "matrix.json")
    assert results.missing(plan, hashes, 0) == list(hashes)
    results.add("fault", matrix.Row(plan.key, {SAMPLE: ("a", "test_smaller")}, 1.0))
    again = matrix.Results(tmp_path / "matrix.json")  # as the next process reads it, in another clone
    assert again.missing(plan, hashes, 0) == [WEAK]
    assert again.missing(plan, hashes, 1) == []
    assert again.missing(plan, hashes | {SAMPLE: "c"}, 1) == list(hashes)
    again.add("fault", matrix.Row(plan.key, {WEAK: ("b", "")}, 1.0))
    assert matrix.Results(tmp_path / "matrix.json").missing(plan, hashes, 0) == []
    other = planned(root, replace(FAULT, new="    if first >= second:"))
    assert again.missing(other, hashes, 0) == list(hashes)


def test_what_caught_a_mutant_before_it_changed_is_remembered_and_run_again(
    root: Path, tmp_path: Path
) -> None:
    path, plan = tmp_path / "matrix.json", planned(root)
    results = matrix.Results(path)
    for id in ("fault", "other"):
        cells = {SAMPLE: ("a", "test_smaller"), WEAK: ("b", "")}
        results.add(id, matrix.Row(plan.key, cells, 1.0))
    # Both test files change, and are run for the other mutant alone.
    results.add("other", matrix.Row(plan.key, {SAMPLE: ("c", ""), WEAK: ("d", "")}, 1.0))
    assert matrix.caught_by(path) == {"fault": {SAMPLE: "test_smaller"}, "other": {}}
    again = matrix.Results(path)
    assert again.missing(plan, {SAMPLE: "c", WEAK: "d"}, 1) == [SAMPLE, WEAK]
    # The source changes, and one test file is run.
    again.add("fault", matrix.Row(plan.key, {SAMPLE: ("c", "test_smaller")}, 1.0))
    again.add("fault", matrix.Row("another key", {WEAK: ("d", "")}, 1.0))
    changed = replace(plan, key="another key")
    assert again.missing(changed, {SAMPLE: "c", WEAK: "d"}, 1) == [SAMPLE]
    assert matrix.caught_by(path)["fault"] == {SAMPLE: "test_smaller"}
    again.keep({"fault"}, {WEAK})
    assert matrix.caught_by(path) == {"fault": {}}


def test_the_matrix_is_sorted_and_says_what_catches_a_mutant_alone(root: Path, tmp_path: Path) -> None:
    plan, path = planned(root), tmp_path / "matrix.json"
    results = matrix.Results(path)
    for id in ("later", "fault"):
        results.add(id, matrix.Row(plan.key, {SAMPLE: ("a", "one"), WEAK: ("b", "")}, 2.0))
    made = matrix.caught_by(path)
    assert list(made) == ["fault", "later"]
    said = "\n".join(matrix.summary([FAULT], made))
    assert f"{SAMPLE}: fault" in said
    assert matrix.lost_without([SAMPLE], made) == {"fault": [SAMPLE], "later": [SAMPLE]}
    assert matrix.lost_without([WEAK], made) == {}


def test_two_files_that_catch_a_mutant_together_may_not_both_go() -> None:
    made = {"fault": {"a": "test_a", "b": "test_b"}}
    assert matrix.lost_without(["a"], made) == {}
    assert matrix.lost_without(["a", "b", "c"], made) == {"fault": ["a", "b"]}


def test_the_test_that_caught_a_mutant_is_run_first(root: Path) -> None:
    assert run_in(root, FAULT, first=True) == {SAMPLE: ["test_smaller"]}
    assert run_in(root, FAULT, first=True, begin=(f"{SAMPLE}::test_larger",)) == {SAMPLE: ["test_larger"]}
    gone = run_in(root, FAULT, first=True, begin=(f"{SAMPLE}::test_that_was_renamed",))
    assert gone == {SAMPLE: ["test_smaller"]}


def test_a_mutant_is_run_again_if_its_source_or_all_that_caught_it_changed(root: Path) -> None:
    one, two = {"fault": {SAMPLE: "test_smaller"}}, {"fault": {SAMPLE: "test_smaller", WEAK: "test_it"}}

    def again(files: list[str], caught: dict[str, dict[str, str]]) -> tuple[int, list[Mutant]]:
        return near.unsettled(near.Change(files), root, [FAULT], caught)

    assert again([SAMPLE], one) == (0, [FAULT])
    assert again([SAMPLE], two) == (1, [])
    assert again([SOURCE], two) == (0, [FAULT])
    (root / WEAK).write_text(f"from tests.helpers.numbers import one\n{(root / WEAK).read_text()}")
    assert again([SAMPLE, "tests/helpers/numbers.py"], two) == (0, [FAULT])
    assert again([SAMPLE], {"fault": {}}) == (0, [])


def test_test_files_written_since_the_recording_are_among_those_of_their_folder(root: Path) -> None:
    new = root / "tests/stats/test_new.py"
    new.write_text("")
    choice = linemap.TestChoice(known(sources={}), NO_RULES, root)
    assert choice.tests_of(SOURCE, [8], most=0, budget=0).tests == (SAMPLE, "tests/stats/test_new.py")


def test_papers_have_tests_of_their_own() -> None:
    tests = {"papers/tests/parser/test_scorers.py", "tests/parser/test_scorers.py"}
    file = "papers/src/headscope_papers/parser/scorers.py"
    assert linemap.mirrored(file, tests) == ["papers/tests/parser/test_scorers.py"]
    assert catalogue.folder_of(file) == "papers"


def test_changed_lines_are_those_of_the_new_text() -> None:
    diff = "@@ -3 +3 @@\n-a\n+b\n@@ -7,2 +6,0 @@\n-c\n-d\n@@ -9,0 +9,3 @@\n+e\n+f\n+g\n"
    assert near.changed_lines(diff) == [3, 6, 9, 10, 11]


def selected(root: Path, files: list[str], seconds: float, **caught: dict[str, str]) -> near.Selection:
    far = root / "tests/run/test_far.py"
    far.parent.mkdir(exist_ok=True)
    far.write_text("")
    choice = linemap.TestChoice(known(), NO_RULES, root)
    lines = {file: [8] for file in files if file == SOURCE}
    return near.select(near.Change(files, lines), choice, [FAULT], caught, seconds=seconds)


def test_near_runs_changed_tests_first_and_says_what_is_left_out(root: Path) -> None:
    changed = selected(root, ["tests/run/test_far.py", SOURCE], 50)
    assert changed.tests == ("tests/run/test_far.py",)  # however long it takes
    assert set(changed.left_out) == {"tests/stats/test_sample.py", "tests/stats/test_weak.py"}
    assert selected(root, ["README.md"], 50).tests == ()


def test_near_runs_what_caught_a_mutant_before_what_only_executes_the_lines(root: Path) -> None:
    assert selected(root, [SOURCE], 1.5).tests == ("tests/stats/test_sample.py",)
    weak = {"tests/stats/test_weak.py": "test_something_comes"}
    assert selected(root, [SOURCE], 1.5, fault=weak).tests == ("tests/stats/test_weak.py",)


def test_near_runs_the_tests_that_use_a_changed_helper(root: Path) -> None:
    helper = root / "tests/helpers/numbers.py"
    helper.parent.mkdir()
    helper.write_text("")
    test = root / "tests/stats/test_weak.py"
    test.write_text(f"from tests.helpers.numbers import one\n{test.read_text()}")
    assert selected(root, ["tests/helpers/numbers.py"], 50).tests == ("tests/stats/test_weak.py",)


def drawn(root: Path, struck: list[tuple[str, str, str]], count: int = 2) -> list[Mutant]:
    return draw.draw("stats", count, seed=1, taken=[], struck=struck, root=root)


def test_the_same_seed_draws_the_same_and_what_was_struck_is_not_drawn_again(root: Path) -> None:
    first, second = drawn(root, [])
    assert drawn(root, []) == [first, second]
    assert catalogue.problems([first, second], root) == []
    gone = (first.file, first.old, first.new)
    assert gone not in [(mutant.file, mutant.old, mutant.new) for mutant in drawn(root, [gone])]


def test_what_is_drawn_reads_as_it_was_written(root: Path, tmp_path: Path) -> None:
    mutants = drawn(root, [])
    path = tmp_path / "mutants.toml"
    path.write_text("# A title.\n" + "".join(map(draw.as_toml, mutants)) + "\n# The end.\n")
    assert catalogue.read(path) == mutants
    path.write_text(draw.strike(path.read_text(), mutants[1], "It changes nothing."))
    assert catalogue.read(path) == mutants[:1]
    assert [entry["old"] for entry in catalogue.struck(path)] == [mutants[1].old]
    assert "# The end." in path.read_text()


@pytest.mark.parametrize(
    ("code", "operator", "expected"),
    [
        ("return a < b", "compare", "return a <= b"),
        ("return a + b", "compute", "return a - b"),
        ("return a and b", "join", "return a or b"),
        ("return not a", "not", "return a"),
        ("return [1][a]", "constant", "return [2][a]"),
        ("return max(a, b)", "extreme", "return min(a, b)"),
        ("return f(a, b)", "swap", "return f(b, a)"),
        ("return f(a, c=b)", "drop", "return f(a)"),
        ("return a[-1]", "index", "return a[0]"),
        ("return a if b else c", "branch", "return a"),
        ("return a == b", "return", "return not (a == b)"),
        ("f(a)", "delete", "pass"),
    ],
)
def test_operators(code: str, operator: str, expected: str) -> None:
    text = f"def of(a, b=1):\n    {code}\n"
    edits = draw._Finder(draw.Source.of("of.py", text)).found()
    made = [text[: edit.start] + edit.text + text[edit.end :] for edit in edits if edit.operator == operator]
    assert f"def of(a, b=1):\n    {expected}\n" in made


@pytest.mark.parametrize(
    "code",
    ['"""words"""', 'raise ValueError(f"{a + 1}")', "assert a < 1", 'b: "int | None" = None', 'x = "a" + a'],
)
def test_words_and_annotations_are_not_drawn_from(code: str) -> None:
    text = f"def of(a):\n    {code}\n"
    assert draw._Finder(draw.Source.of("of.py", text)).found() == []


def test_a_map_says_which_lines_run_when_something_is_called(tmp_path: Path) -> None:
    from coverage import CoverageData

    tree, record = tmp_path / "tree", tmp_path / "record"
    (tree / SOURCE).parent.mkdir(parents=True)
    (tree / SOURCE).write_text(CODE)
    record.mkdir()
    data = CoverageData(basename=str(record / "lines.1"))
    for context, lines in (
        ("", [3, 6, 13]),
        ("tests/a.py", [6, 8, 9]),
        ("fixture made", [15]),
        ("tests/c.py", [3, 6]),
    ):
        data.set_context(context)
        data.add_lines({str(tree / SOURCE): lines})
    data.write()
    (record / "fixtures.1.json").write_text(json.dumps([["tests/b.py", "made"]]))
    reports = [{"test": "tests/a.py::test", "phase": "call", "outcome": "failed", "seconds": 2.0}]
    (record / "reports.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in reports))
    linemap.save(linemap.make(record, tree), tmp_path / "map.json")
    made = linemap.LineMap.load(tmp_path / "map.json")
    assert made.executing(SOURCE, CODE, [8]) == {"tests/a.py"}
    assert made.executing(SOURCE, CODE, [15]) == {"tests/b.py"}
    assert made.of_file(SOURCE) == {"tests/a.py", "tests/b.py"}  # the third only loads the file
    assert (made.duration("tests/a.py"), set(made.failing)) == (2.0, {"tests/a.py::test"})


def test_durations_are_those_of_a_report_where_there_is_one(tmp_path: Path) -> None:
    path = tmp_path / "report.xml"
    cases = '<testcase classname="tests.run.test_a" time="1.5"/><testcase classname="tests.run.test_a.TestB" time="2"/>'
    path.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    data = {"tests": ["tests/run/test_a.py", "tests/run/test_b.py"], "seconds": [9.0, 8.0], "failing": []}
    assert linemap.timed(data, path) == data | {"seconds": [3.5, 8.0]}
