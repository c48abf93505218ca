"""How much of each head its names explain: the shares of groups of templates, and what is to be said of them."""

from collections.abc import Container, Iterable

import numpy as np

from headscope.atlas import Atlas
from headscope.facts.head_arrays import HeadArrays
from headscope.facts.scores import NOTICEABLE, mean_ends
from headscope.facts.vocabulary import template_name
from headscope.facts.wording import interval, share
from headscope.remembered import once
from headscope.types import Array, HeadId

MEASURE = "explained"
GOLD = "explained_gold"
"""The same on annotated texts, with templates of syntax; it is shown where an atlas has it."""
NO_NAME = "no name yet"

GROUPS = {
    "near tokens": ("self", *(f"offset_{offset}" for offset in (-3, -2, -1, 1, 2, 3))),
    "first token": ("first_token",),
    "delimiters": ("delimiters",),
    "punctuation": ("punctuation",),
    "same word": ("same_word", "same_word_other_sentence", "induction"),
    "sentence": ("own_sentence", "other_sentence"),
    "syntax": ("syntactic_head", "dependents"),
}
"""Names that are shown together, and their templates; even attention is no name."""


def measured_as(arrays: Container[str]) -> str:
    """The measure that is shown of a stack: the one with syntax where there is one."""
    return GOLD if GOLD in arrays else MEASURE


def group_names(templates: Iterable[object]) -> list[str]:
    """The groups of which there are templates."""
    known = set(map(str, templates))
    return [name for name, members in GROUPS.items() if known.issuperset(members)]


def named_parts(atlas: Atlas, *, stack: str) -> Array:
    """(layer, head, group) the explained share of each head, dealt out to `group_names` by their weights.

    What is missing to 1 has no name yet. A share below 0, or of a head that looks evenly, counts as 0.
    """
    arrays = atlas.stack(stack)
    measure = measured_as(arrays)
    whole = np.nan_to_num(arrays[measure].transpose("layer", "head").values).clip(0, 1)
    weights = arrays[f"{measure}_weight"].transpose("layer", "head", "template")
    members = [list(GROUPS[name]) for name in group_names(weights["template"].values)]
    groups = np.stack([weights.sel(template=templates).sum("template").values for templates in members], -1)
    named = groups.sum(-1, keepdims=True)
    parts: Array = whole[..., None] * np.divide(groups, named, out=np.zeros_like(groups), where=named > 0)
    return parts


@once
def stacked_shares(atlas: Atlas, *, stack: str) -> tuple[list[str], Array] | None:
    """The names of the parts, the last for what has none, and (layer, head, part) shares that add up to 1.

    None where the stack was not measured so.
    """
    arrays = atlas.stack(stack)
    weights = arrays.get(f"{measured_as(arrays)}_weight")
    if weights is None or measured_as(arrays) not in arrays:
        return None
    parts = named_parts(atlas, stack=stack)
    shares: Array = np.concatenate([parts, (1 - parts.sum(-1, keepdims=True)).clip(0)], -1)
    return [*group_names(weights["template"].values), NO_NAME], shares


def explained_sentence(arrays: HeadArrays, texts: int | None, *, heads: int) -> str:
    """How much of one of so many heads names explain, beside those of another text; empty where that is not known."""
    measure = measured_as(arrays)
    value, error, control = (arrays.number(measure + ending) for ending in ("", "_stderr", "_control"))
    weights = arrays.get(f"{measure}_weight")
    if not np.isfinite(value) or weights is None:
        return ""
    ends, surely = mean_ends(value, error, texts), mean_ends(value, error, texts, comparisons=heads)
    with_names = f"with another text's names {share(control)}"
    told = "; ".join(filter(None, (interval(*ends) if ends else "", with_names)))
    if value < NOTICEABLE or surely is None or surely[0] <= 0:
        return f"Names explain little of it: {share(value)} ({told}).".replace("-", "\N{MINUS SIGN}")
    named = {
        str(name): weights.number(template=name) for name in weights.labels["template"] if name != "even"
    }
    most = template_name(max(named, key=lambda name: named[name]))
    told = told.replace("-", "\N{MINUS SIGN}")
    return f"Names explain {share(value)} of it ({told}), most of all the name “{most}”."


def explained_sentences(atlas: Atlas, *, stack: str) -> tuple[str, ...]:
    """The median head beside control and ceiling, and the heads that are explained best and least."""
    arrays = atlas.stack(stack)
    values = arrays[MEASURE].transpose("layer", "head").values
    if not np.isfinite(values).any():
        return ()
    median, control, ceiling = (
        float(np.nanmedian(arrays[f"{MEASURE}{ending}"].values)) for ending in ("", "_control", "_ceiling")
    )
    errors = arrays[f"{MEASURE}_stderr"].transpose("layer", "head").values
    best, least = (
        HeadId(*(int(at) for at in np.unravel_index(place, values.shape)))
        for place in (np.nanargmax(values), np.nanargmin(values))
    )

    def told(head: HeadId) -> str:
        error = float(errors[head.layer, head.head])
        return share(float(values[head.layer, head.head]), error if np.isfinite(error) else None)

    return (
        f"Names explain {share(median)} of the median head's attention. Control, the names of another text of the same "
        f"length: {share(control)}. Ceiling, its own mean attention by offset and class of token: {share(ceiling)}.",
        f"Head {best} is explained best ({told(best)}), head {least} least ({told(least)}).",
    )
