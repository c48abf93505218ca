"""What slices of an atlas are called, in the words a reader of that kind of model would use."""

from collections.abc import Callable
from functools import partial

from headscope.atlas import Atlas
from headscope.atlas.files import MOVED
from headscope.data import beside
from headscope.facts.description import Description, array_text, description_of, descriptions, direction_name
from headscope.facts.head_arrays import Choice
from headscope.facts.slices import HeadValues
from headscope.facts.wording import lower

FEATURE_WINDOWS = 16

WORDS: dict[str, dict[str, str]] = beside(__file__)
"""By kind: patterns, templates, units, stacks, titles and groups of arrays."""


def stack_title(stack: str) -> str:
    """A stack as a heading."""
    return WORDS["stacks"].get(stack, stack)


def has_markers(atlas: Atlas) -> bool:
    """True for models that mark texts with [CLS] and [SEP]: encoders that stand alone."""
    return atlas.stacks == ["encoder"]


def role_name(atlas: Atlas, stack: str, role: Choice) -> str:
    """A kind of token in words: [CLS] for an encoder is the first token for a decoder."""
    if role in ("cls", "sep") and has_markers(atlas):
        return f"[{str(role).upper()}]"
    if role in ("cls", "sep") and stack == "cross":
        return "the first token of the source" if role == "cls" else "the end of the source"
    if role in ("cls", "sep"):
        return "the first token" if role == "cls" else "end of text"
    names = {"period": "full stops", "comma": "commas", "other": "everything else", "self": "itself"}
    name = names.get(str(role), str(role).replace("_", " "))
    return f"{name} of the source" if stack == "cross" and role in ("period", "comma") else name


def key_name(atlas: Atlas, stack: str, role: str) -> str:
    """A role of keys in words; punctuation is full stops and commas."""
    if role == "punctuation":
        both = (role_name(atlas, stack, mark) for mark in ("period", "comma"))
        return " and ".join(both)
    return role_name(atlas, stack, role)


def offset_name(offset: int) -> str:
    """An offset in words."""
    near = {-1: "the previous token", 0: "the token itself", 1: "the next token"}
    if offset in near:
        return near[offset]
    return f"{abs(offset)} tokens {'back' if offset < 0 else 'ahead'}"


def pattern_name(pattern: Choice) -> str:
    """What a named pattern looks at, in words."""
    return WORDS["patterns"].get(str(pattern), str(pattern).replace("_", " "))


def template_name(template: str) -> str:
    """What a template looks at, in words."""
    if template.startswith("offset_"):
        offset = int(template.removeprefix("offset_"))
        return f"{abs(offset)} token{'' if abs(offset) == 1 else 's'} {'back' if offset < 0 else 'ahead'}"
    return WORDS["templates"].get(template, template.replace("_", " "))


def label_name(atlas: Atlas, stack: str, described: Description, label: Choice) -> str:
    """A label of a probe in words; what special tokens are called depends on the model."""
    special = label in ("cls", "sep") and label not in described.names
    return role_name(atlas, stack, label) if special else described.row_name(str(label))


def class_name(atlas: Atlas, stack: str, feature: Choice) -> str:
    """A class of words or a special token, as the features probe tells them apart."""
    return label_name(atlas, stack, description_of(atlas, "features"), feature)


def slice_title(atlas: Atlas, picked: HeadValues) -> str:
    """A title for one number per head."""
    measure, is_error = picked.measure.removesuffix("_stderr"), picked.measure.endswith("_stderr")
    looked = measure.removesuffix(MOVED)
    described = _probe_title(atlas, picked, measure)
    title = described or _title(atlas, picked, looked)
    if measure != looked and described is None:
        title = title.replace("Attention", "Moved attention").replace("of attention", "of moved attention")
    return f"Standard error: {lower(title)}" if is_error else title


def _probe_title(atlas: Atlas, picked: HeadValues, measure: str) -> str | None:
    """A title for what a probe found; None for what no probe describes."""
    text = array_text(atlas, measure)
    if text is None:
        return None
    owner = next(described for described in descriptions(atlas).values() if text in described.arrays.values())
    names = [
        label_name(atlas, picked.stack, owner, label)
        if dim == owner.label
        else owner.names.get(f"{dim}={label}", str(label))
        for dim, labels in picked.select.items()
        if dim != "direction"
        for label in labels
    ]
    ways = [direction_name(label) for label in picked.select.get("direction", ())]
    second = ["second model"] if measure.removesuffix(MOVED).endswith("_against") else []
    return ", ".join([text.title.replace("{}", " and ".join(names)), *ways, *second])


def _title(atlas: Atlas, picked: HeadValues, measure: str) -> str:
    select, stack = picked.select, picked.stack
    targets: dict[str, tuple[str, Callable[[Choice], str]]] = {
        "offset_attention": ("offset", lambda offset: offset_name(int(offset))),
        "role_attention": ("role", partial(role_name, atlas, stack)),
        "named_patterns": ("pattern", pattern_name),
    }
    asked = _asked_by(atlas, stack, select["query_role"]) if "query_role" in select else ""
    if measure in targets:
        dim, name = targets[measure]
        return f"Attention to {' and '.join(map(name, select[dim]))}{asked}"
    if measure == "entropy":
        return f"Entropy of attention{asked}"
    if measure == "distance_features":
        return f"Attention to {_features(atlas, stack, select['feature'])}"
    if measure == "pattern_share":
        return f"Maps that are {' and '.join(map(str, select['pattern']))}"
    if measure in WORDS["explained"]:
        names = " and ".join(template_name(str(label)) for label in select.get("template", ()))
        return f"{WORDS['explained'][measure]}{names}"
    chosen = "; ".join(f"{dim} {', '.join(map(str, labels))}" for dim, labels in select.items())
    return measure.replace("_", " ").capitalize() + (f" ({chosen})" if chosen else "")


def value_name(picked: HeadValues) -> str:
    """What the numbers are, for the bar that explains their colours."""
    if picked.text is not None:
        return picked.text.unit
    measure = picked.measure.removesuffix("_stderr").removesuffix("_against")
    of_what = "what is moved" if measure.endswith(MOVED) else "attention"
    return WORDS["units"].get(measure) or (f"share of {of_what}" if picked.is_share else picked.units)


def _asked_by(atlas: Atlas, stack: str, query_roles: tuple[Choice, ...]) -> str:
    if query_roles == ("all",):
        return ""
    stack = "decoder" if stack == "cross" else stack  # there the decoder's tokens ask
    asking = " and ".join(
        f"all but {role_name(atlas, stack, 'sep')}" if role == "other" else role_name(atlas, stack, role)
        for role in query_roles
    )
    return f", from {asking}"


def _features(atlas: Atlas, stack: str, features: tuple[Choice, ...]) -> str:
    windows = sorted(int(str(name)[1:]) for name in features if _is_window(name))
    names = [role_name(atlas, stack, name) for name in features if not _is_window(name)]
    if windows:
        together = windows == list(range(windows[0], windows[-1] + 1))
        names.append(
            _span(windows[0], windows[-1]) if together else f"windows {', '.join(map(str, windows))}"
        )
    return " and ".join(names)


def _is_window(feature: Choice) -> bool:
    text = str(feature)
    return text[0] == "w" and text[1:].isdigit()


def _span(first: int, last: int) -> str:
    """Windows as shares of the text's length."""
    start, end = first / FEATURE_WINDOWS, (last + 1) / FEATURE_WINDOWS
    if first == 0:
        return f"others within {100 * end:g}% of the text"
    return f"others {100 * start:g}% to {100 * end:g}% of the text away"


def own_name(name: str) -> str:
    """A model, a file or a folder without the folders it is in, which are nobody's concern; names on the hub stay."""
    is_path = name.startswith(("/", ".", "~")) or "\\" in name or name.count("/") > 1
    return name.replace("\\", "/").rstrip("/").rpartition("/")[2] if is_path else name
