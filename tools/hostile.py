"""Valid files of every format, ways to spoil them, and how each is read: for the tests and `fuzz.py`."""

from __future__ import annotations

import json
import random
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import headscope as hs
from headscope.atlas import Atlas, Example, Typical
from headscope.atlas.storage.hdf5 import read_hdf5
from headscope.atlas.storage.index import _FOOTER, _MAGIC, read_indexed, with_index
from headscope.data import sample_path
from headscope.text.annotated.arrows import read_arrows
from headscope.text.annotated.coreference import read_coreference
from headscope.text.annotated.minimal_pairs import read_minimal_pairs
from headscope.text.annotated.roles import read_roles
from headscope.text.annotated.treebank import read_treebank
from headscope.text.formats.labelled import read_labelled
from headscope.text.formats.squad import read_questions
from headscope.types import HeadId, LabelledArray
from headscope_papers.vectors import read_vectors

PIECES = [
    b"", b"\n", b"\n\n", b"\r", b"\t", b" ", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\x1f\x8b", b"(", b")", b"|", b"-",
    b"_", b"[", b"]", b"{", b"}", b'"', b"\\u0000", b"\\ud800", b":", b",", b"null", b"true", b"NaN", b"Infinity", b"0",
    b"-1", b"1e999", b"9" * 30, b"9" * 5000, b"(" * 300, b"[" * 3000, b'{"a":' * 3000, b"x" * 5000, b"# newdoc\n",
    b"Entity=(e1", b"e1)", b"e1[1/2]", b"1-2", b"1.1", b"<", b"</sentence>", b"&amp;", b"&x;",
    b"<!DOCTYPE a [<!ENTITY x 'y'>]>",
    "é".encode(), "\u202e".encode(), "\U0001f600".encode(), "\ud7ff".encode(), b".", b"?", b"!", b"Mr. ",
]  # fmt: skip
"""What is put into files: signs of the formats, and what readers stumble over."""


@dataclass(frozen=True)
class Format:
    """A format: valid files of it, how their names end, and how they are read."""

    name: str
    ending: str
    read: Callable[[Path], object]
    make: Callable[[], list[bytes]]
    spoil: Callable[[bytes, random.Random], bytes]
    is_bounded: bool = False
    """Whether headscope reads it in a process of its own: one that has to be ended harms nobody."""

    @property
    def seeds(self) -> list[bytes]:
        """Valid files."""
        return _seeds(self)


@cache
def _seeds(format: Format) -> list[bytes]:
    return format.make()


def spoiled(content: bytes, chance: random.Random) -> bytes:
    """The content with a few changes: bytes, slices cut out or doubled, pieces put in."""
    changed = bytearray(content)
    for _ in range(1 + int(chance.expovariate(0.6))):
        place = chance.randrange(len(changed) + 1)
        end = min(len(changed), place + int(chance.expovariate(1 / 30)))
        match chance.randrange(7):
            case 0 if changed:
                changed[min(place, len(changed) - 1)] ^= 1 << chance.randrange(8)
            case 1 if changed:
                changed[min(place, len(changed) - 1)] = chance.randrange(256)
            case 2:
                del changed[place:end]
            case 3:
                changed[place:place] = changed[place:end] * chance.choice([1, 2, 50])
            case 4:
                changed[place:end] = chance.choice(PIECES)
            case 5 if chance.random() < 0.2:
                del changed[place:]
            case _:
                changed[place:place] = chance.choice(PIECES)
    return bytes(changed)


def _overwritten(content: bytes, chance: random.Random) -> bytes:
    """The content with other bytes and of the same length: HDF5 refuses another at once."""
    changed = bytearray(content)
    for _ in range(1 + int(chance.expovariate(0.6))):
        changed[chance.randrange(9, len(changed))] = chance.choice(
            [0, 1, 2, 0x7F, 0x80, 0xFF, chance.randrange(256)]
        )
    return bytes(changed)


def _respoiled_index(content: bytes, chance: random.Random) -> bytes:
    """An atlas whose index was changed by one who computes the checksums anew."""
    *_, length, _ = _FOOTER.unpack_from(content, len(content) - _FOOTER.size)
    end = len(content) - _FOOTER.size
    text = spoiled(zlib.decompress(content[end - length : end]), chance)
    index = zlib.compress(text, 1)
    body = content[: end - length] + index
    return body + struct.pack(
        _FOOTER.format, _MAGIC, zlib.crc32(body), zlib.crc32(index), len(index), len(text)
    )


def _spoiled_tree(content: bytes, chance: random.Random) -> bytes:
    """An atlas of well-formed arrays with other content: names, shapes, labels, facts."""
    *_, length, _ = _FOOTER.unpack_from(content, len(content) - _FOOTER.size)
    end = len(content) - _FOOTER.size
    index = json.loads(zlib.decompress(content[end - length : end]))
    for _ in range(1 + int(chance.expovariate(0.6))):
        _change(index, chance)
    packed = zlib.compress(json.dumps(index).encode(), 1)
    body = content[: end - length] + packed
    raw = len(zlib.decompress(packed))
    return body + struct.pack(_FOOTER.format, _MAGIC, zlib.crc32(body), zlib.crc32(packed), len(packed), raw)


_VALUES: list[Any] = [
    None,
    0,
    -1,
    10**9,
    "",
    "x",
    "0.1",
    [],
    {},
    ["<f8", 0.5],
    ["<i8", [1]],
    [1, 2],
    True,
    "nan",
    "{}",
    "[]",
]


def _change(node: Any, chance: random.Random) -> None:
    """Change something somewhere below a value of JSON."""
    keys = list(node) if isinstance(node, dict) else range(len(node))
    if not keys:
        return None
    key = chance.choice(list(keys))
    below = node[key]
    if isinstance(below, (dict, list)) and below and chance.random() < 0.85:
        return _change(below, chance)
    if chance.random() < 0.3:
        del node[key]
    elif isinstance(below, str) and chance.random() < 0.6:
        node[key] = spoiled(below.encode(), chance).decode(errors="replace")
    else:
        node[key] = deepcopy(chance.choice(_VALUES))
    return None


def _each(items: Iterable[object]) -> None:
    for _ in items:
        pass


def _look(path: Path) -> None:
    """What `show`, a page of a head and a script ask of an atlas."""
    atlas = hs.open(path)
    _ = repr(atlas), atlas.provenance, atlas.measures, atlas.edits
    for stack in atlas.stacks:
        _ = atlas.stack(stack).plain, atlas.shape(stack)
        for probe in atlas.probes:
            _ = atlas.table(probe, stack=stack), [one.is_whole for one in atlas.examples(probe, stack=stack)]
        _ = [one.is_whole for one in atlas.typical("0.0", stack=stack)]
    _ = atlas.findings()


def _read_in_child(path: Path) -> None:
    """What the bounded process does with a file that has no index."""
    with_index(b"", read_hdf5(path.read_bytes())[0], {})


@cache
def _atlas() -> bytes:
    grid = {"layer": [0, 1], "head": [0, 1, 2]}
    chance = np.random.default_rng(0)
    arrays = {
        "entropy": LabelledArray.of(
            chance.random((2, 3, 2)), {**grid, "query_role": ["all", "cls"]}, "entropy", "nats"
        ),
        "entropy_stderr": LabelledArray.of(
            chance.random((2, 3, 2)), {**grid, "query_role": ["all", "cls"]}, "its error", "nats"
        ),
        "offset_attention": LabelledArray.of(
            chance.random((2, 3, 3)), {**grid, "offset": [-1, 0, 1]}, "offsets"
        ),
    }
    typical = Typical(HeadId(0, 0), ("a", "b"), None, (0, 1), (0.5, 0.5), 0.9, (0, 0), (0.5, 0.5))
    atlas = Atlas.build(
        {"encoder": arrays},
        provenance={
            "model": "m",
            "texts": 5,
            "tokens": 50,
            "weights_hash": "sha256:1",
            "options": '{"limit": null}',
        },
        typical={"encoder": [typical]},
    )
    example = Example("probe", "det", "d", HeadId(0, 0), ("a", "b"), 0, (1,), 1, (0.1, 0.9), "s")
    atlas = atlas.with_probe(
        "probe",
        {"encoder": {"accuracy": LabelledArray.of(chance.random((2, 3)), grid, "accuracy")}},
        facts={"data": "x", "texts": 5},
        table={"encoder": [{"relation": "det", "score": 0.5}]},
        examples={"encoder": [example]},
    )
    with tempfile.TemporaryDirectory() as folder:
        atlas.save(Path(folder) / "a.nc")
        return (Path(folder) / "a.nc").read_bytes()


def _without_index() -> list[bytes]:
    content = _atlas()
    read_indexed(content)
    version = {0: 40, 2: 28, 3: 28}[content[8]]
    return [content[: int.from_bytes(content[version : version + 8], "little")]]


def _start(name: str, size: int = 1500) -> list[bytes]:
    return [sample_path(name).read_bytes()[:size]]  # type: ignore[arg-type]


_SQUAD = {
    "version": "v2.0",
    "data": [
        {"title": "t", "paragraphs": [{"context": "The cat sat.", "qas": [
            {"id": "a", "question": "who?", "answers": [{"text": "cat", "answer_start": 4}]},
            {"id": "b", "question": "why?", "is_impossible": True, "answers": []}]}]},
    ],
}  # fmt: skip
_COLUMNS = b"#begin document (a); part 000\n" + b"".join(
    b"a 0 %d word NN * - - - s * %s\n" % (number, mark)
    for number, mark in enumerate((b"(1", b"1)", b"(2)", b"-"))
)
_ENTITY = b"# newdoc id = a\n# global.Entity = eid-etype-head-other\n" + b"".join(
    b"%d\tword\tword\tNOUN\tNN\t_\t%d\tdep\t_\t%s\n" % (number, number - 1, mark)
    for number, mark in enumerate(
        (b"Entity=(e1-person-1-", b"Entity=e1)(e2-x-1-)", b"Entity=(e3[1/2])", b"_"), 1
    )
)
_XML = b"""<?xml version="1.0"?><fullTextAnnotation xmlns="http://framenet.icsi.berkeley.edu">
<sentence docID="7" ID="5"><text>The cat gave the dog a mat .</text>
<annotationSet frameName="Giving" ID="9"><layer rank="1" name="Target">
<label end="11" start="8" name="Target"/></layer><layer rank="1" name="FE"><label end="6" start="0" name="Donor"/>
</layer></annotationSet></sentence></fullTextAnnotation>"""

FORMATS = {
    format.name: format
    for format in (
        Format("text", ".txt", lambda path: _each(hs.read_text(path)), lambda: _start("articles"), spoiled),
        Format("jsonl", ".jsonl", lambda path: _each(hs.read_text(path)), lambda: [
            b'{"text": "The cat sat. It was red."}\n{"text_a": "a", "text_b": "b"}\n'], spoiled),
        Format("pairs", ".tsv", lambda path: _each(hs.read_pairs(path)), lambda: [b"a cat\ta dog\nit\t\n"], spoiled),
        Format("conllu", ".conllu", lambda path: _each(read_treebank(path)), lambda: _start("treebank"), spoiled),
        Format("coreference", ".conllu", lambda path: _each(read_coreference(path)),
               lambda: [_COLUMNS, _ENTITY], spoiled),
        Format("squad", ".json", read_questions, lambda: [json.dumps(_SQUAD).encode()], spoiled),
        Format("roles", ".jsonl", lambda path: _each(read_roles(path)), lambda: _start("roles", 700), spoiled),
        Format("framenet", ".xml", lambda path: _each(read_roles(path)), lambda: [_XML], spoiled),
        Format("vectors", ".txt", lambda path: read_vectors(path, wanted={"cat", "dog"}), lambda: [
            b"cat 1 2 3\ndog 0.1 -2 1e3\n", b"2 3\ncat 1 2 3\nthe dog 4 5 6\n"], spoiled),
        Format("labelled", ".jsonl", read_labelled, lambda: [
            b'{"text": "a cat", "label": 1}\n{"text": "a dog", "label": "no"}\n'], spoiled),
        Format("arrows", ".jsonl", lambda path: _each(read_arrows(path)), lambda: [
            b'{"text": "a cat sat", "arrows": [[0, 1], [2, 1]]}\n'], spoiled),
        Format("minimal pairs", ".jsonl", lambda path: _each(read_minimal_pairs(path)), lambda: [
            b'{"sentence_good": "the cat sits", "sentence_bad": "the cat sit"}\n'], spoiled),
        Format("atlas", ".nc", _look, lambda: [_atlas()], spoiled),
        Format("atlas, new checksums", ".nc", _look, lambda: [_atlas()], _respoiled_index),
        Format("atlas, other content", ".nc", _look, lambda: [_atlas()], _spoiled_tree),
        Format("atlas, HDF5", ".nc", _read_in_child, _without_index, _overwritten, is_bounded=True),
    )
}  # fmt: skip
