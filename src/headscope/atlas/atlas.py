"""The atlas: what every head does, as labelled arrays with their provenance."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.atlas.display import view_of
from headscope.atlas.files import (
    COMPANIONS,
    FORMAT,
    FORMAT_KEY,
    NESTED,
    PLAIN_FORMAT,
    Results,
    measure_names,
)
from headscope.atlas.hub import fetched, push
from headscope.atlas.saving import Opened, save
from headscope.atlas.sentences import Example, Typical, as_line, from_line
from headscope.atlas.storage.read import read_stored
from headscope.atlas.storage.stored import Arrays, StoredGroup, StoredTree
from headscope.errors import AtlasError, choices
from headscope.stats.documents import DOCUMENT_GROUPS, FEWEST_DOCUMENTS
from headscope.types import HeadId, LabelledArray

if TYPE_CHECKING:  # loaded where they are used: findings do without them
    import pandas as pd
    import xarray as xr

    from headscope.atlas.frames import Library

EXAMPLES, TABLE = "_examples", "_table"
"""How the names of arrays end that hold lines of JSON instead of numbers."""

TYPICAL = f"typical{EXAMPLES}"
"""The group of the sentences where heads are most typical. It is no probe's: an analysis brings it, and it stays
with the measures of that analysis."""

DERIVED = "derived_from"
"""A fact about a result that was computed from the atlas's own measures: it goes when they are measured anew."""

STACKS = ("encoder", "decoder", "cross")
"""All stacks there can be, in the order of the forward pass."""


class Atlas:
    """Labelled arrays for every stack of a model, and where they come from.

    `atlas["entropy"]` is an xarray DataArray. A model with several stacks (T5: encoder, decoder, cross) has
    `atlas["decoder/entropy"]` and so on, and `atlas["entropy"]` is the first stack that has it.
    """

    opened: Opened | None = None
    """The file it was opened from; None where it was made here."""

    def __init__(self, tree: xr.DataTree | StoredTree) -> None:
        if isinstance(tree, StoredTree):
            self._stored = tree
        else:
            self.tree = tree
        self._arrays: dict[str, Arrays] = {}  # of each stack asked for: a tree is slow to walk
        self.added: tuple[str, ...] = ()  # probes whose results came since it was opened or made
        self._typical: dict[str, dict[HeadId, list[Typical]]] = {}  # read once, for a page of every head

    @cached_property
    def tree(self) -> xr.DataTree:
        """All groups and attributes; of an atlas from a file it is made when first asked for."""
        return self._stored.tree()

    @property
    def _attrs(self) -> dict[Any, Any]:
        return self.tree.attrs if "tree" in vars(self) else self._stored.attrs

    @classmethod
    def build(
        cls,
        stacks: Results,
        *,
        provenance: Mapping[str, str | int | float],
        typical: Mapping[str, Sequence[Typical]] | None = None,
    ) -> Atlas:
        """An atlas of one group a measure, `/entropy`, or `/decoder/entropy` in a model of several stacks.

        Each measure has a group of its own (with its companions) because two measures may use one dimension
        with different labels: `query_role` is all, cls to one measure and all, sep, other to another. `typical`
        has, for each of these stacks, the sentences where its heads are most typical.
        """
        from headscope.atlas.trees import array_groups, line_groups, tree_of

        several = len(stacks) > 1
        lines = {
            stack: list(map(as_line, sentences))
            for stack, sentences in (typical or {}).items()
            if stack in stacks and sentences
        }
        version = FORMAT if lines else PLAIN_FORMAT
        facts = {**provenance, "stacks": ",".join(stacks), FORMAT_KEY: version}
        groups = array_groups(stacks, several=several) | line_groups(TYPICAL, lines, several=several)
        return cls(tree_of(groups, facts))

    def with_probe(
        self,
        probe: str,
        stacks: Results,
        *,
        facts: Mapping[str, object],
        table: Mapping[str, Sequence[Mapping[str, object]]],
        examples: Mapping[str, Sequence[Example]],
    ) -> Atlas:
        """This atlas and what a probe found; what the same probe found before goes.

        `facts` say where its numbers come from; they stand in the provenance under `probes`. `table` has, for
        each stack, the rows that the probe prints, and `examples` its best heads at work.
        """
        from headscope.atlas.adding import added

        return added(self, probe, stacks, facts=facts, table=table, examples=examples)

    def with_probes_of(self, other: Atlas) -> Atlas:
        """This atlas and what other probes found in another one of the same model.

        What was derived from the other's own measures (kinds of heads) stays behind: they are not this atlas's.
        """
        from headscope.atlas.adding import joined

        return joined(self, other)

    @property
    def edits(self) -> tuple[str, ...]:
        """The edits of the model that were in force when its numbers were computed, in words."""
        return tuple(self.provenance.get("edits", ()))

    def check_model(self, name: str, weights_hash: str, edits: Sequence[str] | None = ()) -> None:
        """Raise AtlasError unless the atlas is of the model with these weights, and these `edits` in force.

        With None, edits do not matter.
        """
        if self._attrs.get("weights_hash") != f"sha256:{weights_hash}":
            raise AtlasError(
                f"the atlas is of {self.provenance.get('model')!r}, whose weights differ from those of {name!r}; "
                "give an atlas of the same model, or write to another file"
            )
        if edits is not None:
            self.check_edits(tuple(edits), "the new numbers are")

    def check_edits(self, edits: tuple[str, ...], what: str) -> None:
        """Raise AtlasError unless these edits were in force; `what` is of them, in words."""
        if edits != self.edits:
            raise AtlasError(
                f"the atlas is of {self.provenance.get('model')!r} {_edited(self.edits)}, and {what} of it "
                f"{_edited(edits)}; they do not belong in one atlas, so write to another file"
            )

    def found_by(self, probe: str) -> dict[str, dict[str, LabelledArray]]:
        """The arrays that a probe left, by stack and name, companions too, ready to be added to an atlas again."""
        owned = {name for name, by in self.owners().items() if by == probe}
        owned |= {name + companion for name in owned for companion in COMPANIONS}
        by_stack = {
            stack: {name: array for name, array in self.stack(stack).plain.items() if name in owned}
            for stack in self.stacks
        }
        return {stack: arrays for stack, arrays in by_stack.items() if arrays}

    def sample_size(self, name: str) -> int | None:
        """How many independent texts or documents the errors of an array are over; None where the atlas does not say.

        All of those that were read: where a label occurs in some of them only, its own errors are over fewer.
        """
        owners = (facts for facts in self.probes.values() if name in facts.get("arrays", ()))
        facts = next(owners, self.provenance)
        documents = facts.get("documents")
        if "intervals" in facts and documents is not None and documents >= FEWEST_DOCUMENTS:
            return min(int(documents), DOCUMENT_GROUPS)
        texts = facts.get("texts")
        return None if texts is None else int(texts)

    def owners(self) -> dict[str, str]:
        """Which probe each of its groups comes from."""
        return {name: probe for probe, facts in self.probes.items() for name in facts.get("arrays", [])}

    def examples(self, probe: str, *, stack: str | None = None) -> list[Example]:
        """The cases that show a probe's best heads at work; none when the atlas keeps none."""
        return [from_line(Example, line) for line in self._lines(probe + EXAMPLES, stack)]

    def table(self, probe: str, *, stack: str | None = None) -> list[dict[str, Any]]:
        """The rows of a probe's table; none when that probe was not run."""
        try:
            return [dict(json.loads(line)) for line in self._lines(probe + TABLE, stack)]
        except (ValueError, TypeError, RecursionError) as error:
            raise AtlasError(f"the table of {probe!r} is damaged; run the probe again with -o") from error

    def typical(self, head: HeadId | str, *, stack: str | None = None) -> list[Typical]:
        """The sentences of the corpus where a head is most typical, the most typical first; none if none were kept."""
        wanted = head if isinstance(head, HeadId) else HeadId.parse(head)
        stack = stack or self.stacks[0]
        if stack not in self._typical:
            by_head = self._typical[stack] = {}
            for line in self._lines(TYPICAL, stack):
                sentence = from_line(Typical, line)
                by_head.setdefault(sentence.head, []).append(sentence)
        return list(self._typical[stack].get(wanted, []))

    def _lines(self, name: str, stack: str | None) -> list[str]:
        groups = self._groups(stack or self.stacks[0])
        group = groups.get(name)
        return list(map(str, group.plain(name).values.ravel())) if group is not None and name in group else []

    @property
    def provenance(self) -> dict[str, Any]:
        """Where the numbers come from: model, weights, tokenizer, corpus, options, versions, duration."""
        return {str(key): _decoded(str(key), value) for key, value in self._attrs.items()}

    @property
    def probes(self) -> dict[str, dict[str, Any]]:
        """What every probe says of its results, by name; an atlas from elsewhere may hold anything there."""
        entries = self.provenance.get("probes")
        known = entries.items() if isinstance(entries, dict) else ()
        return {str(name): facts for name, facts in known if isinstance(facts, dict)}

    @property
    def stacks(self) -> list[str]:
        """The names of the stacks, in the order of the forward pass."""
        return str(self._attrs["stacks"]).split(",")

    def stack(self, name: str) -> Arrays:
        """All arrays of one stack by name, standard errors and baselines included."""
        if name not in self._arrays:
            groups = self._groups(name)
            named = (groups[key] for key in groups if not key.endswith((EXAMPLES, TABLE)))
            self._arrays[name] = Arrays(named, self.module_layers(name))
        return self._arrays[name]

    def module_layers(self, stack: str) -> tuple[int, ...]:
        """The numbers that the layers of a stack have in the network; empty where they are 0, 1, 2 and so on.

        In a hybrid only some modules attend: layer 0 of the atlas may be `layers.3` of the network.
        """
        known = self.provenance.get("module_layers")
        numbers = known.get(stack) if isinstance(known, dict) else None
        is_list = isinstance(numbers, list) and all(type(number) is int for number in numbers)
        return tuple(numbers) if is_list and numbers else ()

    def _groups(self, stack: str) -> Mapping[str, StoredGroup]:
        """The arrays of each group of a stack."""
        if stack not in self.stacks:
            raise AtlasError(f"this atlas has no stack {stack!r}; it has {', '.join(self.stacks)}")
        is_only = len(self.stacks) == 1
        if "tree" not in vars(self):
            return self._stored.children("/" if is_only else f"/{stack}")
        node = self.tree if is_only else self.tree.children[stack]
        return {name: StoredGroup.of(child.to_dataset()) for name, child in node.children.items()}

    @property
    def has_measures(self) -> bool:
        """Whether it holds more than what probes found."""
        return any(measure_names(self._groups(stack).keys() - self.owners()) for stack in self.stacks)

    @property
    def measures(self) -> list[str]:
        """The names of the measures, each once; standard errors and baselines go without saying."""
        return measure_names(dict.fromkeys(name for stack in self.stacks for name in self.stack(stack)))

    def __contains__(self, name: str) -> bool:
        stack, _, measure = name.rpartition("/")
        return any(measure in self.stack(candidate) for candidate in self.stacks if stack in ("", candidate))

    def __iter__(self) -> Iterator[str]:
        return iter(self.measures)

    def __getitem__(self, name: str) -> xr.DataArray:
        return self.holding(name)[name.rpartition("/")[2]]

    def holding(self, name: str) -> Arrays:
        """The arrays of the stack that `atlas[name]` is taken from."""
        stack, _, measure = name.rpartition("/")
        for candidate in [stack] if stack else self.stacks:
            arrays = self.stack(candidate)
            if measure in arrays:
                return arrays
        raise AtlasError(f"this atlas has no {name!r}; {choices(measure, self.measures)}")

    def shape(self, stack: str) -> tuple[int, int] | None:
        """How many layers and heads a stack has; None when no array of it says so."""
        for array in self.stack(stack).plain.values():
            if {"layer", "head"} <= set(array.dims):
                return len(array.coords["layer"]), len(array.coords["head"])
        return None

    def to_dataframe(
        self, *, stack: str | None = None, errors: bool = True, library: Library = "pandas"
    ) -> Any:
        """One row a head, one column a number: `entropy[all]`, `offset_attention[-1]`, with standard errors.

        A pandas data frame, or with `library="polars"` one of polars. Maps and distances between heads, which
        have very many numbers for each head, are left out.
        """
        from headscope.atlas.frames import all_heads

        return all_heads(self, stack, errors, library)

    def head(self, head: HeadId | str, *, stack: str | None = None) -> pd.DataFrame:
        """Every number of one head, such as "7.4" or "encoder:7.4": a row each, beside its error and even attention.

        Where a measure has several dimensions, `label` names them in their order: of `role_attention` first the query's
        role, then the role that is looked at ("all, sep").
        """
        from headscope.atlas.frames import one_head

        return one_head(self, head, stack)

    def top(
        self, measure: str, *, n: int = 5, stack: str | None = None, lowest: bool = False, **labels: object
    ) -> pd.DataFrame:
        """The `n` heads with the most of a measure (with `lowest`, the least) at the labels given.

        For example `atlas.top("offset_attention", offset=-1)`.
        """
        from headscope.atlas.frames import top_heads

        ordered = top_heads(self, measure, stack=stack, labels=labels)
        return (ordered[::-1] if lowest else ordered).head(n).reset_index(drop=True)

    def findings(self, *, stack: str | None = None) -> Any:
        """What stands out, as sentences with heads, values and controls: those of report, explorer and `show`."""
        return import_module("headscope.facts.findings").findings(self, stack=stack)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one NetCDF file; it appears under its name only when it is whole.

        What probes found in the atlas of the same model that is at `path` stays, and so does what another program
        wrote there since this one was opened. Of another model, the file is replaced.
        """
        save(self, path)

    def push_to_hub(
        self, repo: str, *, name: str = "atlas.nc", sentences: bool = False, private: bool | None = None
    ) -> str:
        """Put the atlas, with a card, into the data set `owner/name` on the hub; the address that `hs.open` takes.

        Without `sentences` those that it quotes from its texts are left out.
        """
        return push(self, repo, name=name, sentences=sentences, private=private)

    def __repr__(self) -> str:
        facts = self.provenance
        shapes = {stack: self.shape(stack) for stack in self.stacks}
        stacks = ", ".join(
            name if size is None else f"{name} {size[0]} x {size[1]}" for name, size in shapes.items()
        )
        edited = f" edited ({'; '.join(self.edits)})" if self.edits else ""
        return (
            f"<Atlas of {facts.get('model')}{edited}: {stacks}; {facts.get('texts')} texts, {facts.get('tokens')} "
            f"tokens; {', '.join(self.measures)}>"
        )

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """For notebooks: the atlas view, or where it cannot be drawn the name."""
        view = view_of(self)
        return {"text/plain": repr(self)} if view is None else view._repr_mimebundle_(**options)

    def _display_(self) -> Any:
        """The same for marimo, which takes the widget itself."""
        return view_of(self) or repr(self)


def open_atlas(path: str | os.PathLike[str]) -> Atlas:
    """Open an atlas file, or one on the hub (hf://owner/name/atlas.nc); a damaged or newer one gives a clear error."""
    path = fetched(path)
    atlas = Atlas(read_stored(path))
    atlas.opened = Opened.of(path, atlas.probes)
    return atlas


def _edited(edits: Sequence[str]) -> str:
    return f"with edits in force ({'; '.join(edits)})" if edits else "as it is, without edits"


def _decoded(key: str, value: Any) -> Any:
    if key in NESTED and isinstance(value, str):
        return _parsed(value)
    return value.item() if isinstance(value, np.generic) else value


@lru_cache(maxsize=32)
def _parsed(text: str) -> Any:
    """What a nested attribute holds, parsed once: the page of each head asks for it. Nobody may change it."""
    return json.loads(text)
