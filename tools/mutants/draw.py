"""Random mutants: small changes of the syntax tree, drawn with a seed, the same number for every folder.

What cannot change behaviour, or changes words alone, is struck by hand in `mutants.toml`, with the reason; the next
draw takes its place. What merely survives stays.
"""

import ast
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.mutants.catalogue import MOST_LINES, ROOT, SOURCE, Mutant, folder_of, parsed

LEFT_OUT = (
    # Numbers and words that are fitted to the eye.
    "figures/style/",
)
"""Files that are not drawn from, as they begin below src/headscope."""

FEWEST = 20
"""A folder with so few places to change is not drawn from: headscope.data reads three files."""


@dataclass(frozen=True)
class Edit:
    """One place of a file, and what is put there."""

    operator: str
    start: int
    end: int
    text: str
    why: str
    function: str


@dataclass(frozen=True)
class Source:
    """A file and its lines, as offsets."""

    file: str
    text: str
    starts: tuple[int, ...]
    """Where each line begins."""

    @classmethod
    def of(cls, file: str, text: str) -> "Source":
        """A file with this text."""
        starts = [0]
        for line in text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        return cls(file, text, tuple(starts))

    def at(self, line: int, column: int) -> int:
        """The offset of a place as the syntax tree has it: the column counts bytes."""
        start = self.starts[line - 1]
        return start + len(self.text[start : self.starts[line]].encode()[:column].decode())

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        """The offsets of a node."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)

    def said(self, node: ast.expr | ast.stmt | ast.keyword) -> str:
        """The text of a node."""
        start, end = self.span(node)
        return self.text[start:end]


def sources(folder: str, root: Path = ROOT) -> list[str]:
    """The files of a folder of src/headscope that are drawn from; of `headscope` those at the top."""
    top = root / SOURCE
    files = top.glob("*.py") if folder == "headscope" else (top / folder).rglob("*.py")
    names = sorted(path.relative_to(root).as_posix() for path in files)
    return [name for name in names if not name.removeprefix(SOURCE).startswith(LEFT_OUT)]


def folders(root: Path = ROOT) -> list[str]:
    """The folders of src/headscope that are drawn from."""
    names = {folder_of(path.relative_to(root).as_posix()) for path in (root / SOURCE).rglob("*.py")}
    return sorted(
        name for name in names if sum(len(_edits_of(file, root)) for file in sources(name, root)) > FEWEST
    )


def draw(folder: str, count: int, *, seed: int, taken: Iterable[Mutant], struck: Iterable[tuple[str, str, str]],
         root: Path = ROOT) -> list[Mutant]:  # fmt: skip
    """Mutants for a folder, as many as it lacks of `count`: the next of a sequence that folder and seed decide."""
    own = [mutant for mutant in taken if mutant.folder == folder and mutant.by == "random"]
    avoid = {*struck, *((mutant.file, mutant.old, mutant.new) for mutant in own)}
    numbers = iter(
        number
        for number in range(1, 1000)
        if f"random-{folder}-{number}" not in {mutant.id for mutant in own}
    )
    drawn: list[Mutant] = []
    for source, edit in _sequence(folder, seed, root):
        if len(own) + len(drawn) >= count:
            break
        snippet = _snippet(source, edit)
        if snippet is not None and (source.file, *snippet) not in avoid:
            drawn.append(
                Mutant(f"random-{folder}-{next(numbers)}", source.file, *snippet, edit.why, "random")
            )
    return drawn


def _sequence(folder: str, seed: int, root: Path) -> Iterator[tuple[Source, Edit]]:
    """All edits of a folder in a random order, of each function one: first an operator is drawn, then a place."""
    chance = random.Random(f"{seed} {folder}")
    by_operator: dict[str, list[tuple[Source, Edit]]] = defaultdict(list)
    for file in sources(folder, root):
        source = Source.of(file, (root / file).read_text(encoding="utf-8"))
        for edit in _edits_of(file, root):
            by_operator[edit.operator].append((source, edit))
    used: set[tuple[str, str]] = set()
    while by_operator:
        operator = chance.choice(sorted(by_operator))
        entries = by_operator[operator]
        source, edit = entries.pop(chance.randrange(len(entries)))
        if not entries:
            del by_operator[operator]
        if (source.file, edit.function) not in used and _counts(source, edit):
            used.add((source.file, edit.function))
            yield source, edit


def _edits_of(file: str, root: Path) -> list[Edit]:
    return _Finder(Source.of(file, (root / file).read_text(encoding="utf-8"))).found()


def _counts(source: Source, edit: Edit) -> bool:
    """Whether the file can still be read, and says something else."""
    text = source.text
    try:
        return parsed(source.file, text) != parsed(
            source.file, text[: edit.start] + edit.text + text[edit.end :]
        )
    except (SyntaxError, ValueError):
        return False


def _snippet(source: Source, edit: Edit) -> tuple[str, str] | None:
    """Whole lines around an edit that occur once, as they are and with the edit; None where they would be too many."""
    lines = source.starts
    first = max(place for place, start in enumerate(lines) if start <= edit.start)
    last = min(place for place, start in enumerate(lines) if start >= edit.end)
    while True:
        start, end = lines[first], lines[last]
        old = source.text[start:end].rstrip("\n")
        new = (source.text[start : edit.start] + edit.text + source.text[edit.end : end]).rstrip("\n")
        if source.text.count(old) == 1 and old.strip():
            return None if max(old.count("\n"), new.count("\n")) + 1 > MOST_LINES else (old, new)
        if last - first > MOST_LINES or (first == 0 and last == len(lines) - 1):
            return None
        if (first > 0 and (last - first) % 2 == 0) or last == len(lines) - 1:
            first -= 1
        else:
            last += 1


_COMPARED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
_COMPUTED: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
_CALLED = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "argmin": "argmax",
    "argmax": "argmin",
    "amin": "amax",
    "amax": "amin",
    "minimum": "maximum",
    "maximum": "minimum",
}
_TOLD = frozenset(
    (
        "strict",
        "repr",
        "compare",
        "kind",
        "verbose",
        "progress",
        "title",
        "stacklevel",
        "description",
        "logging_level",
        "device",
        "non_blocking",
    )
)
"""Arguments that check something, say what goes on, or matter on a GPU alone: without them the same comes out here."""
_FIRST_IS_OTHER = frozenset(
    ("map", "filter", "isinstance", "getattr", "hasattr", "setattr", "replace", "partial")
)
"""What takes arguments that cannot stand for each other: to swap them is an error at once."""
_SKIPPED = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom)
"""What says words, or nothing."""


class _Finder:
    """Finds what can be changed in a file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._edits: list[Edit] = []
        self._function = ""

    def found(self) -> list[Edit]:
        """All changes, in the order of the file."""
        self._walk(ast.parse(self.source.text))
        return self._edits

    def _add(self, operator: str, start: int, end: int, text: str, said: str) -> None:
        place = f" in {self._function}" if self._function else ""
        self._edits.append(Edit(operator, start, end, text, f"{said}{place}", self._function))

    def _walk(self, node: ast.AST) -> None:
        before = self._function
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            self._function = f"{before}.{node.name}" if before else node.name
            self._defaults(node.args)
            self._each(node.body)
        elif isinstance(node, ast.ClassDef):
            self._function = f"{before}.{node.name}" if before else node.name
            self._each(node.body)
        elif isinstance(node, ast.Module):
            self._each(node.body)
        elif isinstance(node, ast.AnnAssign):  # its annotation is no code
            if node.value is not None:
                self._walk(node.value)
        elif not isinstance(node, _SKIPPED):
            if self._function:
                self._change(node)
            for child in ast.iter_child_nodes(node):
                if not (isinstance(child, ast.keyword) and child.arg in _TOLD):
                    self._walk(child)
        self._function = before

    def _each(self, body: Sequence[ast.stmt]) -> None:
        for place, statement in enumerate(body):
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue  # a docstring
            if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.dump(statement.test):
                continue
            self._walk(statement)
            if self._function and not isinstance(statement, _SKIPPED):
                self._delete(statement, alone=len(body) == 1 and place == 0)

    def _defaults(self, arguments: ast.arguments) -> None:
        plain = [*arguments.posonlyargs, *arguments.args]
        with_default = zip(plain[len(plain) - len(arguments.defaults) :], arguments.defaults, strict=True)
        named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        for argument, default in (*with_default, *named):
            if not isinstance(default, ast.Constant) or argument.arg in _TOLD:
                continue
            if isinstance(default.value, bool | int | float):
                start, end = self.source.span(default)
                other = _other(default.value)
                self._add("default", start, end, other, f"the default of {argument.arg} is {other}")

    def _delete(self, statement: ast.stmt, *, alone: bool) -> None:
        """Leave out a statement that nothing after it needs in order to run at all."""
        is_call = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
        is_put = isinstance(statement, ast.AugAssign | ast.Continue | ast.Break)
        if isinstance(statement, ast.Assign):
            is_made = self._function.endswith(
                ("__init__", "__post_init__")
            )  # what is missing then fails at once
            is_put = not is_made and all(
                isinstance(to, ast.Attribute | ast.Subscript) for to in statement.targets
            )
        if is_call or is_put:
            start, end = self.source.span(statement)
            said = " ".join(self.source.said(statement).split())
            self._add("delete", start, end, "pass", f"`{_brief(said)}` is left out")

    def _change(self, node: ast.AST) -> None:
        changes: dict[type[ast.AST], Callable[..., None]] = {
            ast.Compare: self._compare,
            ast.BinOp: self._compute,
            ast.BoolOp: self._join,
            ast.UnaryOp: self._unary,
            ast.Constant: self._constant,
            ast.Call: self._call,
            ast.Subscript: self._index,
            ast.If: self._condition,
            ast.IfExp: self._choice,
            ast.Return: self._return,
        }
        if type(node) in changes:
            changes[type(node)](node)

    def _between(self, left: ast.expr, right: ast.expr, old: str) -> tuple[int, int] | None:
        """Where an operator stands between two operands; None where it cannot be told."""
        start, end = self.source.span(left)[1], self.source.span(right)[0]
        place = self.source.text.find(old, start, end)
        if place < 0 or "#" in self.source.text[start:end]:
            return None
        return place, place + len(old)

    def _compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for place, operator in enumerate(node.ops):
            old, new = _COMPARED[type(operator)]
            where = self._between(operands[place], operands[place + 1], old)
            if where is not None:
                self._add("compare", *where, new, f"`{old}` is `{new}`")

    def _compute(self, node: ast.BinOp) -> None:
        if type(node.op) not in _COMPUTED or _is_text(node.left) or _is_text(node.right):
            return
        old, new = _COMPUTED[type(node.op)]
        where = self._between(node.left, node.right, old)
        if where is not None:
            self._add("compute", *where, new, f"`{old}` is `{new}`")

    def _join(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        where = self._between(node.values[0], node.values[1], old)
        if where is not None and len(node.values) == 2:
            self._add("join", *where, new, f"`{old}` is `{new}`")

    def _unary(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.Invert | ast.USub) and not isinstance(
            node.operand, ast.Constant
        ):
            start, _ = self.source.span(node)
            inner, _ = self.source.span(node.operand)
            sign = self.source.text[start:inner]
            if "(" not in sign and "\n" not in sign:
                self._add("not", start, inner, "", f"`{sign.strip()}` is left out")

    def _constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool | int | float):
            start, end = self.source.span(node)
            other = _other(node.value)
            self._add("constant", start, end, other, f"{node.value!r} is {other}")

    def _call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _CALLED:
            _, end = self.source.span(node.func)
            self._add("extreme", end - len(name), end, _CALLED[name], f"`{name}` is `{_CALLED[name]}`")
        plain = [argument for argument in node.args if not isinstance(argument, ast.Starred)]
        if len(plain) == len(node.args) >= 2 and name not in _FIRST_IS_OTHER:
            (first, middle), (begin, last) = self.source.span(node.args[0]), self.source.span(node.args[1])
            one, other = self.source.text[first:middle], self.source.text[begin:last]
            self._add(
                "swap", first, last, other + self.source.text[middle:begin] + one,
                f"the first two arguments of `{_brief(name)}` are swapped",
            )  # fmt: skip
        parts: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
        if node.keywords and node.keywords[-1].arg not in (None, *_TOLD) and len(parts) > 1:
            _, start = self.source.span(parts[-2])
            _, end = self.source.span(parts[-1])
            said = f"`{node.keywords[-1].arg}=` of `{_brief(name)}` is left out"
            self._add("drop", start, end, "", said)

    def _index(self, node: ast.Subscript) -> None:
        index = node.slice
        start, end = self.source.span(index)
        said = self.source.text[start:end]
        if said in ("0", "-1") and isinstance(node.ctx, ast.Load):
            other = "-1" if said == "0" else "0"
            self._add("index", start, end, other, f"the index {said} is {other}")

    def _condition(self, node: ast.If) -> None:
        start, end = self.source.span(node.test)
        if not any(isinstance(part, ast.NamedExpr) for part in ast.walk(node.test)):
            said = " ".join(self.source.text[start:end].split())
            text = f"not ({self.source.text[start:end]})"
            self._add("condition", start, end, text, f"the condition `{_brief(said)}` is turned round")

    def _choice(self, node: ast.IfExp) -> None:
        start, end = self.source.span(node)
        self._add("branch", start, end, self.source.said(node.body), "of a choice always the first branch")
        self._add("branch", start, end, self.source.said(node.orelse), "of a choice always the second branch")

    def _return(self, node: ast.Return) -> None:
        if isinstance(node.value, ast.Compare | ast.BoolOp):
            start, end = self.source.span(node.value)
            self._add(
                "return", start, end, f"not ({self.source.text[start:end]})", "the opposite is returned"
            )


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def _other(value: bool | int | float) -> str:
    """Another value of the same type."""
    if isinstance(value, bool):
        return str(not value)
    return repr(value + 1)


def _brief(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def as_toml(mutant: Mutant) -> str:
    """An entry of `mutants.toml`."""
    return (
        f"\n[[mutant]]\nid = {_quoted(mutant.id)}\nfile = {_quoted(mutant.file)}\nold = {_literal(mutant.old)}\n"
        f"new = {_literal(mutant.new)}\nwhy = {_quoted(mutant.why)}\nby = {_quoted(mutant.by)}\n"
    )


def strike(text: str, mutant: Mutant, why: str) -> str:
    """The text of `mutants.toml` with a mutant among those that were struck; a random one is not drawn again."""
    before, *entries = re.split(r"(?m)^(?=\[\[)", text)
    own = next(entry for entry in entries if f"\nid = {_quoted(mutant.id)}\n" in entry)
    behind = own.partition(f"\nby = {_quoted(mutant.by)}\n")[2]  # the title of the next section
    others = [behind if entry is own else entry for entry in entries]
    gone = (
        f"\n[[struck]]\nfile = {_quoted(mutant.file)}\nold = {_literal(mutant.old)}\nnew = {_literal(mutant.new)}\n"
        f"why = {_quoted(why)}\n"
    )
    return "".join([before, *others]).rstrip("\n") + "\n" + gone


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _literal(text: str) -> str:
    """A string over several lines, as it stands."""
    if "'''" in text:
        raise ValueError(f"a snippet holds three quotes: {text!r}")
    return f"'''\n{text}'''"
