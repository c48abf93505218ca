"""What papers' figures are read from: an atlas for each model, ready ones or such as are filled now."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from headscope.atlas import Atlas, open_atlas
from headscope.errors import OptionError
from headscope.measures import MEASURES
from headscope.models import Model, load
from headscope.run import analyze
from headscope.text.corpus import Corpus

ModelOrAtlas = Model | Atlas | str | os.PathLike[str]

MAX_LENGTH = 128
"""Tokens in a segment, as in the papers."""


@dataclass
class Study:
    """Models and what is known of each: the pre-trained one first, then those it is compared with.

    Several papers can fill one study: a step that was done for one of them is not done again for the next.
    """

    models: Sequence[Model]
    max_length: int | None = None
    batch_size: int | Literal["auto"] = "auto"
    progress: bool = False
    tell: Callable[[str], object] | None = None
    """Called with the name of each step before it is done."""
    atlases: list[Atlas | None] = field(init=False)
    _done: set[tuple[int, str]] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self.atlases = [None] * len(self.models)

    @property
    def options(self) -> dict[str, Any]:
        """What every probe takes."""
        return {"max_length": self.max_length, "batch_size": self.batch_size, "progress": self.progress}

    @property
    def filled(self) -> list[Atlas]:
        """The atlases of the models about which anything is known, in the order of the models."""
        return [atlas for atlas in self.atlases if atlas is not None]

    def measure(
        self,
        place: int,
        text: Corpus,
        measures: Sequence[str],
        *,
        limit: int | None = None,
        faithful: bool = False,
    ) -> None:
        """Observe the heads of the model at `place` on a text, unless that was done for all these measures.

        A second reading repeats the first one's measures, since an atlas holds those of one reading.
        """
        known = {name for done, name in self._done if done == place and name in MEASURES.names()}
        if set(measures) <= known:
            return
        wanted = sorted(known | set(measures))
        self._tell("measures", place)
        atlas = analyze(
            self.models[place],
            text,
            measures=wanted,
            limit=limit,
            max_length=MAX_LENGTH if self.max_length is None else self.max_length,
            batch_size=self.batch_size,
            faithful=faithful,
            progress=self.progress,
        )
        before = self.atlases[place]
        self.atlases[place] = atlas if before is None else atlas.with_probes_of(before)
        self._done |= {(place, name) for name in wanted}

    def add(self, place: int, step: str, run: Callable[[Model, Atlas | None], Atlas]) -> None:
        """Let `run` add to the atlas of the model at `place`, unless a step of this name was done for it."""
        if (place, step) in self._done:
            return
        self._tell(step, place)
        self.atlases[place] = run(self.models[place], self.atlases[place])
        self._done.add((place, step))

    def _tell(self, step: str, place: int) -> None:
        if self.tell is not None:
            self.tell(f"{step}, {self.models[place].name}")


def ready_atlas(model: ModelOrAtlas) -> Atlas | None:
    """The atlas, if that is what was given: as it is, or as an .nc file."""
    if isinstance(model, Atlas):
        return model
    if isinstance(model, Model):
        return None
    return open_atlas(model) if Path(model).suffix == ".nc" else None


def ready_atlases(models: Sequence[ModelOrAtlas], data: dict[str, object]) -> list[Atlas] | None:
    """The atlases, if these were given; None where models were. Raises for a mixture, and for atlases with data."""
    ready = [ready_atlas(model) for model in models]
    atlases = [atlas for atlas in ready if atlas is not None]
    if not atlases:
        return None
    if len(atlases) < len(ready):
        raise OptionError("model and against must all be models, or all be atlases")
    refuse_data(data)
    return atlases


def listed(models: ModelOrAtlas | Sequence[ModelOrAtlas] | None) -> list[ModelOrAtlas]:
    """What a paper takes as `against`, one model, several or none, as a list."""
    if models is None:
        return []
    if isinstance(models, Model | Atlas | str | os.PathLike):
        return [models]
    return list(models)


def loaded(model: ModelOrAtlas) -> Model:
    """The model, loaded if it was named."""
    assert not isinstance(model, Atlas)
    return model if isinstance(model, Model) else load(model)


def refuse_data(given: dict[str, object]) -> None:
    """Raise OptionError if an atlas came with data that only a model could read."""
    names = [name for name, value in given.items() if value]
    if names:
        raise OptionError(
            f"{', '.join(names)} cannot be read with an atlas, which holds results and no model; give the model "
            "instead, or add to the atlas first with: headscope probe ... -o ATLAS"
        )
