from importlib.metadata import EntryPoint

import pytest
from tests.cli.conftest import Run

from headscope.cli.usage import repeat_flags


@pytest.mark.parametrize(
    ("typed", "spelled"),
    [
        ("demo --text a b -o x", "demo --text a --text b -o x"),
        ("demo --text a --text b c", "demo --text a --text b --text c"),
        ("demo --text a -o x b", "demo --text a -o x b"),
        ("demo --text", "demo --text"),
        ("demo --text - b", "demo --text - --text b"),
        ("demo --text a -- b", "demo --text a -- b"),
        ("demo --text=a b", "demo --text=a b"),
        ("demo -o x", "demo -o x"),
    ],
)
def test_every_value_gets_its_own_flag(typed: str, spelled: str) -> None:
    assert repeat_flags(typed.split(), {"--text"}) == spelled.split()


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("compare", "MODEL_A MODEL_B (--text FILE... | --pairs FILE | --dataset NAME) [OPTIONS]"),
        ("patterns", "MODEL... --text FILE... [OPTIONS]"),
        ("ablate", "MODEL --task NAME --data FILE... [OPTIONS]"),
        ("explain", "MODEL --head HEAD... --text FILE... [OPTIONS]"),
        ("map", "ATLAS -o FILE [OPTIONS]"),
        ("view", "MODEL TEXT_A [TEXT_B] [OPTIONS]"),
        ("probe dependency", "MODEL --treebank FILE.conllu... [OPTIONS]"),
    ],
)
def test_usage_lines_are_made_of_what_is_needed(run: Run, command: str, usage: str) -> None:
    first = run(*command.split(), "-h").stdout.partition("\n\n")[0]
    assert " ".join(first.split()) == f"Usage: headscope {command} {usage}"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (
            ("importance", "--task", "mlm", "--data", "a.txt"),
            "MODEL is missing; it comes first: headscope importance ",
        ),
        (("view", "demo"), "MODEL and TEXT_A are needed; they come first: headscope view MODEL TEXT_A"),
        (("show",), "ATLAS is missing; it comes first: headscope show ATLAS [MEASURE]"),
    ],
)
def test_a_missing_argument_is_told_with_where_it_comes(run: Run, args: tuple[str, ...], says: str) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert says in result.stderr


def test_tasks_and_measures_of_other_packages_are_in_help_and_accepted(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def points(group: str) -> list[EntryPoint]:
        return [EntryPoint("chess", "no_such_package:Chess", group)]

    monkeypatch.setattr("headscope.registry.entry_points", points)
    assert "|seq2seq|chess>" in run("ablate", "--help").stdout
    assert "role_attention, chess." in " ".join(run("analyze", "--help").stdout.split())
    refused = run("ablate", "demo", "--task", "draughts", "--data", "a.txt").stderr
    assert (
        "no task called 'draughts'; choose from qa, classification, regression, mlm, lm, seq2seq, chess"
        in refused
    )


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("shwo", "a.nc"), "Did you mean 'show'?"),
        (("probe", "dependancy", "demo"), "Did you mean 'dependency'?"),
        (("show", "a.nc", "--tpo", 3), "No such option: --tpo; did you mean --top?"),
        (("analyze", "demo", "--text", "a", "-o", "a.nc", "--measures", "entrpy"), "did you mean entropy?"),
        (("ablate", "demo", "--task", "mml", "--data", "a.txt"), "did you mean mlm?"),
    ],
)
def test_a_slip_of_the_pen_is_answered_with_the_name_meant(
    run: Run, args: tuple[object, ...], says: str
) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert says in result.stderr
