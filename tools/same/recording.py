"""What a study left, as plain data: arrays by name, lines of JSON, verdicts. Written to files and read back."""

import csv
import gzip
import io
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tools.same.verdicts import Verdict, verdicts

Values = NDArray[Any]

LINES = ("_examples", "_table")
"""How the names of groups end that hold lines of JSON."""
LARGE = 8_000
"""Of arrays with more numbers than this, some are committed."""
NOT_RESULTS = ("duration", "seconds", "versions", "date", "created", "file", "hash", "threads", "machine")
"""What provenance says of the run rather than of the results; any key with such a word in it is left out."""


@dataclass
class Recording:
    """All that one study left."""

    arrays: dict[str, Values] = field(default_factory=dict)
    """By `stack/name`; labels of dimensions by `stack/name:dimension`."""
    lines: dict[str, list[Any]] = field(default_factory=dict)
    """Tables, examples and quoted sentences by `stack/group`, and what the provenance says of the results."""
    verdicts: list[Verdict] = field(default_factory=list)

    @classmethod
    def of(cls, atlas: Any) -> "Recording":
        """From an atlas."""
        recording = cls(verdicts=verdicts(atlas))
        for stack in atlas.stacks:
            for name, array in atlas.stack(stack).plain.items():
                recording.arrays[f"{stack}/{name}"] = plain(array.values)
                for dim in array.dims:
                    recording.arrays[f"{stack}/{name}:{dim}"] = plain(array.coords[dim])
            for group, stored in groups_of(atlas, stack).items():
                if group.endswith(LINES):
                    texts = map(str, stored.plain(group).values.ravel())
                    recording.lines[f"{stack}/{group}"] = [json.loads(text) for text in texts]
        facts = json.loads(json.dumps(atlas.provenance, default=str))
        recording.lines["provenance"] = [results_only(facts)]
        return recording

    def compact(self) -> "Recording":
        """What is committed: single precision, some of the numbers of large arrays, verdicts that say something.

        Beside another commit everything is compared, on one machine.
        """
        silent = [verdict for verdict in self.verdicts if is_silent(verdict)]
        counts = Counter((verdict.stack, verdict.analysis, verdict.outcome) for verdict in silent)
        kept = [verdict for verdict in self.verdicts if not is_silent(verdict)]
        kept += [Verdict(*key, "", "", number, outcome="heads and labels") for key, number in counts.items()]
        return Recording(
            {name: thinned(array) for name, array in self.arrays.items()},
            {name: rounded(lines) for name, lines in self.lines.items()},
            kept,
        )

    def save(self, folder: Path, name: str) -> None:
        """Write `name`.npz, .jsonl.gz and .tsv."""
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{name}.npz").open("wb") as file:
            np.savez_compressed(file, **self.arrays)  # type: ignore[arg-type]  # its options have types
        text = "".join(json.dumps([key, value]) + "\n" for key, value in self.lines.items())
        (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        with (folder / f"{name}.tsv").open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, delimiter="\t", lineterminator="\n")
            table.writerow(Verdict._fields)
            table.writerows(list(map(written, verdict)) for verdict in self.verdicts)

    @classmethod
    def read(cls, folder: Path, name: str) -> "Recording":
        """As `save` wrote it."""
        with np.load(folder / f"{name}.npz") as stored_arrays:
            arrays = {key: stored_arrays[key] for key in stored_arrays.files}
        text = gzip.decompress((folder / f"{name}.jsonl.gz").read_bytes()).decode()
        lines = dict(map(json.loads, text.splitlines()))
        rows = csv.reader(io.StringIO((folder / f"{name}.tsv").read_text(encoding="utf-8")), delimiter="\t")
        next(rows)
        table = [Verdict._make([*row[:5], *map(float, row[5:11]), row[11]]) for row in rows]
        return cls(arrays, lines, table)


def is_silent(verdict: Verdict) -> bool:
    """Whether a verdict on one of all heads says nothing of it: there are thousands, and they are only counted."""
    return verdict.analysis.endswith(" heads") and verdict.outcome in ("unclear", "too few")


def plain(values: Any) -> Values:
    """An array that files take: text instead of objects."""
    array = np.asarray(values)
    return array.astype(str) if array.dtype == object else array


def groups_of(atlas: Any, stack: str) -> Mapping[str, Any]:
    """The groups of a stack, those that hold lines too."""
    groups: Mapping[str, Any] = atlas._groups(stack)
    return groups


def results_only(facts: Any) -> Any:
    """Provenance without what differs from run to run and from machine to machine."""
    if isinstance(facts, dict):
        return {
            key: results_only(value)
            for key, value in facts.items()
            if not any(word in key.lower() for word in NOT_RESULTS)
        }
    return [results_only(value) for value in facts] if isinstance(facts, list) else facts


def thinned(array: Values) -> Values:
    """Numbers in single precision; of a large array those at regular places."""
    if array.dtype.kind != "f":
        return array
    single = array.astype(np.float32)
    return single if single.size <= LARGE else single.ravel()[:: -(-single.size // LARGE)]


def rounded(value: Any) -> Any:
    """Numbers to eight digits, in whatever holds them."""
    if isinstance(value, float):
        return float(f"{value:.8g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


def written(cell: object) -> str:
    """A cell of the table of verdicts, with all of its digits."""
    return repr(float(cell)) if isinstance(cell, int | float) else str(cell)
