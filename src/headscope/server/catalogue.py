"""What the server has: models, loaded when first asked for, and atlases.

Nothing here loads torch before a model is asked for: a page of an atlas must not wait for it.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from headscope.atlas import Atlas, open_atlas
from headscope.errors import OptionError
from headscope.facts.vocabulary import own_name
from headscope.pages.page import view_infos
from headscope.pages.shapes.views import About, AtlasInfo, ModelInfo
from headscope.server.problems import NotThereError
from headscope.types import DEMO_MODELS, TaskName, task_of

if TYPE_CHECKING:
    from headscope.models import Model

Source: TypeAlias = "str | Path | Model | Atlas"
T = TypeVar("T")


@dataclass(eq=False)
class OfferedModel:
    """A model that can be asked; its weights are read when it first is."""

    name: str
    """What pages call it: of a folder its own name, without the folders it is in."""
    source: str
    """What it is loaded by."""
    config: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    """How it is loaded: device, dtype, allow_pickle, start_token."""
    loaded: "Model | None" = None

    @property
    def task(self) -> TaskName | None:
        """What it can predict; None for a model without a task head."""
        if self.loaded is not None:
            from headscope.tasks.heads import ready_task  # noqa: PLC0415 - loads torch

            if (ready := ready_task(self.loaded.network)) is not None:
                return ready
        return task_of([str(name) for name in self.config.get("architectures") or ()])

    def get(self) -> "Model":
        """The model, loaded."""
        if self.loaded is None:
            self.loaded = _loaded(self.source, self.options)
        return self.loaded

    def predicting(self) -> "Model":
        """The model with its task head; it takes the place of the one without."""
        task = self.task
        if task is None:
            raise OptionError(
                f"{self.name} has no prediction head; give a model that has one, such as demo, demo-qa or demo-mrpc"
            )
        from headscope.tasks.heads import with_task_head  # noqa: PLC0415 - loads torch

        allow_pickle = bool(self.options.get("allow_pickle"))
        self.loaded = with_task_head(self.get(), task, allow_pickle=allow_pickle)
        return self.loaded

    def info(self, longest: int) -> ModelInfo:
        """What a page is told of it; `longest` is the most tokens the server lets through.

        All but the task by its config, as its files name it: whichever part of it is loaded at the moment, and
        without asking the model, which would be a forward pass outside of the worker.
        """
        config, loaded = self.config, self.loaded
        named = config.get("architectures") or [
            loaded.architecture if loaded else config.get("model_type", "")
        ]
        positions = config.get("max_position_embeddings") or config.get("n_positions")
        limit = loaded.max_length if loaded else int(positions or 0)
        return ModelInfo(
            name=self.name,
            architecture=str(named[0]),
            task=self.task,
            max_length=min(longest, limit) if limit and limit > 0 else longest,
            # Where a second text is more than the first one going on: a marked pair, or what the model writes.
            pairs=bool(config.get("is_encoder_decoder")) or _takes_pairs(config),
        )


@dataclass(eq=False)
class OfferedAtlas:
    """An atlas that can be looked at."""

    id: str
    name: str
    atlas: Atlas
    file: str | None = None
    """As it was named when the server was started; None for an atlas in memory."""


class Catalogue:
    """All that was named when the server was started."""

    def __init__(self, sources: Iterable[Source], **options: Any) -> None:
        """Names of models, folders, atlas files, or models and atlases in memory; `options` are those of `load`.

        An atlas of a demo model brings the model along. Files and folders are looked at now, so that a wrong name
        is told before anything is served; weights are not.
        """
        self.models: dict[str, OfferedModel] = {}
        self.atlases: dict[str, OfferedAtlas] = {}
        for source in sources:
            self._add(source, options)
        self.start = "" if self.models else "view=atlas"
        for atlas in list(self.atlases.values()):
            name = str(atlas.atlas.provenance.get("model", ""))
            if name in DEMO_MODELS and name not in self.models and find_spec("headscope_models"):
                self._add_model(name, options)

    def model(self, name: str) -> OfferedModel:
        """The model that pages call so, or that was named so when the server was started."""
        by_source = {model.source: model for model in self.models.values()}
        return by_source[name] if name in by_source else _named(self.models, "model", name)

    def atlas(self, id: str) -> OfferedAtlas:
        """The atlas of that id."""
        return _named(self.atlases, "atlas", id)

    def atlas_of(self, model: str) -> Atlas | None:
        """The first atlas of a model, where kinds of heads and measures can be looked up."""
        return next(
            (offered.atlas for offered in self.atlases.values() if self.model_of(offered) == model), None
        )

    def model_of(self, offered: OfferedAtlas) -> str:
        """The model that an atlas is of, as pages call it.

        A folder may have been named from elsewhere when the atlas was made: it is known by its last name.
        """
        named = str(offered.atlas.provenance.get("model", ""))
        own = own_name(named)
        for model in self.models.values():
            if model.source == named:
                return model.name
        last = [
            model.name
            for model in self.models.values()
            if Path(model.source).is_dir() and Path(model.source).resolve().name == Path(named).name
        ]
        return last[0] if own not in self.models and len(last) == 1 else own

    def about(self, version: str, longest: int) -> About:
        """What a page is told first."""
        return About(
            version=version,
            models=[model.info(longest) for model in self.models.values()],
            atlases=[
                AtlasInfo(id=atlas.id, name=atlas.name, model=self.model_of(atlas))
                for atlas in self.atlases.values()
            ],
            views=view_infos("text", "atlas", "head"),
            start=self.start,
        )

    def _add(self, source: Source, options: Mapping[str, Any]) -> None:
        if isinstance(source, Atlas):
            self._add_atlas(source, str(source.provenance.get("model", "atlas")))
        elif not isinstance(source, str | Path):
            self._offer(source.name, source.config.to_dict(), options, source)
        elif str(source).endswith(".nc") or Path(source).is_file():
            self._add_atlas(open_atlas(source), Path(source).name, file=str(source))
        elif str(source) not in [model.source for model in self.models.values()]:
            self._add_model(str(source), options)

    def _add_model(self, name: str, options: Mapping[str, Any]) -> None:
        config = _config(name)
        # What cannot be read this way is loaded at once: that tells what is wrong with it, in words.
        model = _loaded(name, options) if config is None else None
        known = config if model is None else model.config.to_dict()
        self._offer(name, known or {}, options, model)

    def _offer(
        self, source: str, config: Mapping[str, Any], options: Mapping[str, Any], loaded: "Model | None"
    ) -> None:
        """Add a model under its own name, or as it was named where another has that name already."""
        name = own_name(source)
        other = self.models.get(name)
        name = name if other is None or other.source == source else source
        self.models[name] = OfferedModel(name, source, config, options, loaded)

    def _add_atlas(self, atlas: Atlas, name: str, *, file: str | None = None) -> None:
        stem = re.sub(r"[^A-Za-z0-9_-]+", "-", name.removesuffix(".nc")).strip("-") or "atlas"
        id, number = stem, 1
        while id in self.atlases:
            number += 1
            id = f"{stem}-{number}"
        self.atlases[id] = OfferedAtlas(id, name, atlas, file)


def _named(offered: Mapping[str, T], kind: str, name: str) -> T:
    if name not in offered:
        known = ", ".join(offered) or "none; name one when starting headscope explore"
        raise NotThereError(f"there is no {kind} {name!r} here; there is {known}")
    return offered[name]


def _loaded(name: str, options: Mapping[str, Any]) -> "Model":
    from headscope.models import load  # noqa: PLC0415 - loads torch

    return load(name, **options)


def _takes_pairs(config: Mapping[str, Any]) -> bool:
    """Whether a model reads two texts as a marked pair: those do that learn from masked words."""
    # Names and segments tell for most models, and at once.
    classes = [str(name) for name in config.get("architectures") or ()]
    if task_of(classes) == "mlm" or int(config.get("type_vocab_size") or 0) > 1:
        return True
    if any(name.endswith("ForCausalLM") for name in classes):
        return False
    from transformers.models.auto import modeling_auto  # noqa: PLC0415 - loads torch

    return config.get("model_type") in modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES


def _config(name: str) -> dict[str, Any] | None:
    """A model's configuration; None when it cannot be read."""
    folder = Path(name)
    if name in DEMO_MODELS:
        if find_spec("headscope_models") is None:
            return None
        import headscope_models  # noqa: PLC0415 - an optional distribution, absent from a plain install

        folder = Path(headscope_models.path(name))
    try:
        if folder.is_dir():
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        else:
            from transformers import AutoConfig  # noqa: PLC0415 - loads torch

            from headscope.models.load import quiet_transformers  # noqa: PLC0415 - loads torch

            with quiet_transformers():
                config = AutoConfig.from_pretrained(name, trust_remote_code=False).to_dict()
    except (OSError, ValueError):
        return None
    return config if isinstance(config, dict) else None
