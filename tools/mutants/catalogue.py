"""The list of mutants: pairs of an old and a new snippet of one file, read from `mutants.toml`.

A mutant judges the tests of the code as it stands. It ends when its code is rewritten: then it is struck from the list,
and the new code gets mutants of its own.
"""

import ast
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

ROOT = Path(__file__).parents[2]
"""The repository."""
CATALOGUE = Path(__file__).with_name("mutants.toml")
SOURCE = "src/headscope/"
TESTS = {SOURCE: "tests/", "papers/src/headscope_papers/": "papers/tests/"}
"""By folder of sources, the folder of its tests, which has the same folders."""
MOST_LINES = 12
"""A mutant is a small fault: neither snippet is longer."""


@dataclass(frozen=True)
class Mutant:
    """A fault: `new` in place of `old`, which occurs once in the file."""

    id: str
    file: str
    """Its path in the repository."""
    old: str
    new: str
    why: str
    """The fault in one sentence."""
    by: str
    """hand or random."""

    @property
    def folder(self) -> str:
        """The folder of src/headscope that it is in; headscope for a file at the top."""
        return folder_of(self.file)

    def applied(self, text: str) -> str:
        """The text of the file with the fault; ValueError unless `old` occurs once."""
        if (count := text.count(self.old)) != 1:
            raise ValueError(f"{self.id}: `old` occurs {count} times in {self.file}, not once")
        return text.replace(self.old, self.new)

    def lines(self, text: str) -> list[int]:
        """The numbers, from 1, of the lines of the file that the fault changes."""
        begin = text.count("\n", 0, text.index(self.old)) + 1
        old, new = self.old.splitlines(), self.new.splitlines()
        changes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        touched = {
            min(place, len(old) - 1)
            for tag, first, last, _, _ in changes
            if tag != "equal"
            for place in range(first, max(last, first + 1))
        }
        return [begin + place for place in sorted(touched)]


def inner_path(file: str) -> tuple[str, str]:
    """The folder of the tests of a source file, and the file's path among the sources."""
    for source, tests in TESTS.items():
        if file.startswith(source):
            return tests, file.removeprefix(source)
    return "tests/", file


def folder_of(file: str) -> str:
    """The folder of src/headscope that a source file is in; headscope for one at the top, papers for all of theirs."""
    if inner_path(file)[0] == "papers/tests/":
        return "papers"
    parts = file.removeprefix(SOURCE).split("/")
    return parts[0] if len(parts) > 1 else "headscope"


def read(path: Path = CATALOGUE) -> list[Mutant]:
    """All mutants, in the order of the list."""
    return [Mutant(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("mutant", [])]


def struck(path: Path = CATALOGUE) -> list[dict[str, str]]:
    """Random mutants that were drawn and struck: `file`, `old`, `new`, and `why`."""
    return list(tomllib.loads(path.read_text(encoding="utf-8")).get("struck", []))


def problems(mutants: Sequence[Mutant], root: Path = ROOT) -> list[str]:
    """What is wrong with the list, a line each: most often that code was changed which a mutant is about."""
    found = [f"{id}: the id is used {count} times" for id, count in _ids(mutants).items() if count > 1]
    texts: dict[str, str] = {}
    before: dict[str, object] = {}
    for mutant in mutants:
        if mutant.by not in ("hand", "random"):
            found.append(f"{mutant.id}: by is {mutant.by!r}; expected hand or random")
        if not mutant.why.strip() or "\n" in mutant.why.strip():
            found.append(f"{mutant.id}: why must be one line that says what the fault is")
        if mutant.file not in texts:
            path = root / mutant.file
            texts[mutant.file] = path.read_text(encoding="utf-8") if path.is_file() else ""
        if not texts[mutant.file]:
            found.append(
                f"{mutant.id}: there is no file {mutant.file}; strike the mutant, or say where its code is now"
            )
            continue
        if mutant.file not in before:
            before[mutant.file] = parsed(mutant.file, texts[mutant.file])
        found += _faults(mutant, texts[mutant.file], before[mutant.file])
    return found


def _ids(mutants: Iterable[Mutant]) -> Counter[str]:
    return Counter(mutant.id for mutant in mutants)


def _faults(mutant: Mutant, text: str, before: object) -> list[str]:
    """What is wrong with one mutant of a file that is there and says `before` without it."""
    if (count := text.count(mutant.old)) != 1:
        return [
            f"{mutant.id}: `old` occurs {count} times in {mutant.file}; where the code was rewritten strike the mutant "
            "and write one for the new code, where it only moved give the snippet as it is now"
        ]
    if max(mutant.old.count("\n"), mutant.new.count("\n")) >= MOST_LINES:
        return [f"{mutant.id}: a snippet has more than {MOST_LINES} lines; a mutant is a small fault"]
    try:
        after = parsed(mutant.file, mutant.applied(text))
    except (SyntaxError, tomllib.TOMLDecodeError) as error:
        return [f"{mutant.id}: {mutant.file} cannot be read with the fault in it: {error}"]
    return [f"{mutant.id}: `new` says the same as `old`"] if before == after else []


def parsed(file: str, text: str) -> object:
    """What a program makes of a source file: equal for texts that differ in layout and comments only."""
    if file.endswith(".py"):
        compile(text, file, "exec")
        return ast.dump(ast.parse(text))
    if file.endswith(".toml"):
        return tomllib.loads(text)
    return text


def selected(mutants: Sequence[Mutant], words: Sequence[str]) -> list[Mutant]:
    """The mutants that are named by their ids, folders or files; all where nothing is named."""
    if not words:
        return list(mutants)
    chosen = [
        mutant
        for mutant in mutants
        if {mutant.id, mutant.folder, mutant.file} & set(words)
        or any(mutant.file.startswith(word.rstrip("/") + "/") for word in words)
    ]
    known = {name for mutant in chosen for name in (mutant.id, mutant.folder, mutant.file)}
    unknown = [
        word
        for word in words
        if word not in known and not any(mutant.file.startswith(word.rstrip("/") + "/") for mutant in chosen)
    ]
    if unknown:
        raise SystemExit(
            f"no mutant has the id, folder or file {', '.join(unknown)}; python -m tools.mutants plan"
        )
    return chosen
