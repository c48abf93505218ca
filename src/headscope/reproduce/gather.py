"""The atlas that a paper's figures are read from: a ready one, or one measured now."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from headscope.atlas import Atlas, open_atlas
from headscope.errors import OptionError
from headscope.models import Model, load
from headscope.run import analyze
from headscope.text.corpus import Corpus

ModelOrAtlas = Model | Atlas | str | os.PathLike[str]

MAX_LENGTH = 128
"""Tokens in a segment, as in the papers."""


def ready_atlas(model: ModelOrAtlas) -> Atlas | None:
    """The atlas, if that is what was given: as it is, or as an .nc file."""
    if isinstance(model, Atlas):
        return model
    if isinstance(model, Model):
        return None
    return open_atlas(model) if Path(model).suffix == ".nc" else None


def loaded(model: ModelOrAtlas) -> Model:
    """The model, loaded if it was named."""
    assert not isinstance(model, Atlas)
    return model if isinstance(model, Model) else load(model)


def refuse_data(given: dict[str, object]) -> None:
    """Raise OptionError if an atlas came with data that only a model could read."""
    names = [name for name, value in given.items() if value is not None]
    if names:
        raise OptionError(
            f"{', '.join(names)} cannot be read with an atlas, which holds results and no model; give the model "
            "instead, or add to the atlas first with: headscope probe ... -o ATLAS"
        )


def measure(
    model: Model,
    text: Corpus,
    measures: Sequence[str],
    *,
    limit: int | None,
    max_length: int | None,
    batch_size: int | Literal["auto"],
    faithful: bool,
    progress: bool,
) -> Atlas:
    """What a paper needs to know about the model's heads on a text."""
    return analyze(
        model,
        text,
        measures=measures,
        limit=limit,
        max_length=MAX_LENGTH if max_length is None else max_length,
        batch_size=batch_size,
        faithful=faithful,
        progress=progress,
    )
