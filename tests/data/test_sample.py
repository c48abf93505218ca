"""The shipped sample: its counts, and that its three files agree with each other."""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any

import pytest

ID, FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS, MISC = range(10)
TYPES = {
    *("person", "place", "organization", "object", "event"),
    *("time", "substance", "plant", "animal", "abstract"),
}
BRACKET = re.compile(r"\((?P<open>e\d+)-(?P<type>[a-z]+)-(?P<head>\d+)-(?P<one>\))?|(?P<close>e\d+)\)")
LABEL = re.compile(r"(R-)?(ARG[0-5]|ARGM-(TMP|LOC|MNR|CAU|PRP|DIR|MOD|NEG|ADV|EXT))")


@dataclass
class Tree:
    """One sentence of the treebank."""

    document: str
    name: str = ""
    text: str = ""
    lines: list[list[str]] = field(default_factory=list)

    @property
    def words(self) -> list[list[str]]:
        return [line for line in self.lines if line[ID].isdigit()]

    @property
    def heads(self) -> list[int]:
        return [int(word[HEAD]) for word in self.words]


@dataclass(frozen=True)
class Mention:
    """A mention: words `start` to `end` (from 1, both included), `head` counted from its first word."""

    entity: str
    type: str
    head: int
    start: int
    end: int


def content(name: str) -> str:
    return files("headscope.data").joinpath(name).read_text(encoding="utf-8")


@cache
def articles() -> list[list[str]]:
    return [block.split("\n") for block in content("articles.txt").removesuffix("\n\n").split("\n\n")]


@cache
def trees() -> list[Tree]:
    found: list[Tree] = []
    document = ""
    for block in content("treebank.conllu").removesuffix("\n\n").split("\n\n"):
        tree = Tree(document)
        for line in block.split("\n"):
            if line.startswith("# newdoc id = "):
                tree.document = document = line.removeprefix("# newdoc id = ")
            elif line.startswith("# sent_id = "):
                tree.name = line.removeprefix("# sent_id = ")
            elif line.startswith("# text = "):
                tree.text = line.removeprefix("# text = ")
            elif not line.startswith("#"):
                tree.lines.append(line.split("\t"))
        found.append(tree)
    return found


@cache
def roles() -> list[dict[str, Any]]:
    return [json.loads(line) for line in content("roles.jsonl").splitlines()]


def documents() -> dict[str, list[Tree]]:
    found: dict[str, list[Tree]] = {}
    for tree in trees():
        found.setdefault(tree.document, []).append(tree)
    return found


def mentions(tree: Tree) -> list[Mention]:
    """The mentions of a sentence; brackets that do not nest or do not close fail."""
    found: list[Mention] = []
    waiting: list[tuple[str, str, int, int]] = []
    for number, word in enumerate(tree.words, start=1):
        values = [
            item.removeprefix("Entity=") for item in word[MISC].split("|") if item.startswith("Entity=")
        ]
        brackets = list(BRACKET.finditer("".join(values)))
        assert "".join(b[0] for b in brackets) == "".join(values), f"{tree.name}: {word}"
        for bracket in brackets:
            if bracket["close"]:
                assert waiting, f"{tree.name}: {bracket['close']} closes but was not open"
                entity, kind, head, start = waiting.pop()
                assert entity == bracket["close"], f"{tree.name}: {bracket['close']} closes before {entity}"
                found.append(Mention(entity, kind, head, start, number))
            elif bracket["one"]:
                found.append(Mention(bracket["open"], bracket["type"], int(bracket["head"]), number, number))
            else:
                waiting.append((bracket["open"], bracket["type"], int(bracket["head"]), number))
    assert not waiting, f"{tree.name}: {waiting} never closes"
    return found


def test_articles() -> None:
    text = content("articles.txt")
    assert text.endswith("\n\n")
    assert "\n\n\n" not in text
    assert len(articles()) == 40
    assert {len(article) for article in articles()} == {3}
    assert 12_000 <= len(text.split()) <= 13_000
    assert not re.search(r"[^\w\s\"'(),.:;-]|  | \n", text)


def test_counts() -> None:
    assert len(trees()) == 150
    assert [len(group) for group in documents().values()] == [5] * 30
    assert [tree.name for tree in trees()] == [f"{name}-{n}" for name in documents() for n in range(1, 6)]
    assert sum(len(tree.words) for tree in trees()) == 2869
    assert sum(len(mentions(tree)) for tree in trees()) == 592
    assert len({mention.entity for tree in trees() for mention in mentions(tree)}) == 258
    assert len(roles()) == 100


def test_readme_tells_the_counts() -> None:
    readme = content("README.md")
    counts = ["40 articles", "120 paragraphs", "30 documents", "150 sentences", "2,869 words"]
    for count in [*counts, "592 mentions", "258 entities", "100 predicates"]:
        assert count in readme, count


def test_documents_open_their_articles() -> None:
    used = []
    for name, group in documents().items():
        start = " ".join(tree.text for tree in group)
        found = [n for n, article in enumerate(articles()) if article[0].startswith(start)]
        assert len(found) == 1, name
        used += found
    assert len(set(used)) == 30


def test_columns() -> None:
    for tree in trees():
        assert [word[ID] for word in tree.words] == [str(n + 1) for n in range(len(tree.words))], tree.name
        for line in tree.lines:
            assert len(line) == 10, line
            assert all(cell and cell == cell.strip() for cell in line), line
            assert line[DEPS] == "_", line
            features = [] if line[FEATS] == "_" else line[FEATS].split("|")
            assert features == sorted(set(features), key=str.lower), line
            assert all(re.fullmatch(r"[A-Z][A-Za-z]+=[A-Z0-9][A-Za-z]*", feature) for feature in features), (
                line
            )


def test_text_is_rebuilt() -> None:
    for tree in trees():
        text, covered = "", 0
        for line in tree.lines:
            if "-" in line[ID]:
                covered = int(line[ID].split("-")[1])
            elif int(line[ID]) <= covered:
                continue
            text += line[FORM] + ("" if "SpaceAfter=No" in line[MISC].split("|") else " ")
        assert text.strip() == tree.text, tree.name


def test_trees() -> None:
    for tree in trees():
        heads = tree.heads
        assert all(0 <= head <= len(heads) for head in heads), tree.name
        assert [word[ID] for word in tree.words if word[DEPREL] == "root"] == [
            word[ID] for word in tree.words if word[HEAD] == "0"
        ], tree.name
        assert heads.count(0) == 1, tree.name
        for start in range(1, len(heads) + 1):
            seen, at = set(), start
            while at:
                assert at not in seen, f"{tree.name}: a cycle at word {at}"
                seen.add(at)
                at = heads[at - 1]


def test_entity_brackets_nest() -> None:
    assert content("treebank.conllu").startswith("# global.Entity = eid-etype-head-other\n")
    for tree in trees():
        spans = [(mention.start, mention.end) for mention in mentions(tree)]
        assert len(spans) == len(set(spans)), tree.name


def test_entities_keep_their_type_and_document() -> None:
    found: dict[str, set[tuple[str, str]]] = {}
    for tree in trees():
        for mention in mentions(tree):
            found.setdefault(mention.entity, set()).add((tree.document, mention.type))
    assert {entity: kinds for entity, kinds in found.items() if len(kinds) > 1} == {}
    assert {kind for kinds in found.values() for _, kind in kinds} <= TYPES


def test_mention_heads() -> None:
    for tree in trees():
        for mention in mentions(tree):
            inside = range(mention.start, mention.end + 1)
            tops = [at for at in inside if tree.heads[at - 1] not in inside]
            assert tops == [mention.start + mention.head - 1], f"{tree.name}: {mention}"


def test_mentions_of_one_entity_do_not_nest() -> None:
    for tree in trees():
        by_entity: dict[str, list[Mention]] = {}
        for mention in mentions(tree):
            by_entity.setdefault(mention.entity, []).append(mention)
        for group in by_entity.values():
            group.sort(key=lambda mention: mention.start)
            assert all(a.end < b.start for a, b in pairwise(group)), tree.name


def test_each_document_has_coreference() -> None:
    for name, group in documents().items():
        found = [(m, tree.words[m.start - 1]) for tree in group for m in mentions(tree)]
        sizes = Counter(mention.entity for mention, _ in found)
        assert sum(size > 1 for size in sizes.values()) >= 3, name
        assert sum(m.start == m.end and word[UPOS] == "PRON" for m, word in found) >= 3, name


@pytest.mark.parametrize("number", range(100))
def test_roles_match_the_treebank(number: int) -> None:
    role = roles()[number]
    assert list(role) == ["sent_id", "tokens", "predicate", "roleset", "arguments"]
    tree = {tree.name: tree for tree in trees()}[role["sent_id"]]
    assert role["tokens"] == [word[FORM] for word in tree.words]
    predicate = tree.words[role["predicate"]]
    assert predicate[UPOS] == "VERB"
    assert re.fullmatch(re.escape(predicate[LEMMA]) + r"\.\d\d", role["roleset"])
    at = 0
    for argument in role["arguments"]:
        assert LABEL.fullmatch(argument["label"])
        assert at <= argument["start"] < argument["end"] <= len(role["tokens"])
        assert not argument["start"] <= role["predicate"] < argument["end"]
        at = argument["end"]
    labels = [argument["label"] for argument in role["arguments"]]
    core = [label for label in labels if "ARGM" not in label]
    assert core
    assert len(core) == len(set(core))
    assert all(label[2:] in labels for label in labels if label.startswith("R-"))


def test_no_predicate_is_annotated_twice() -> None:
    assert len({(role["sent_id"], role["predicate"]) for role in roles()}) == 100
