"""Task heads: which networks have one, and loading a model again with the one that a task needs.

`headscope.load` leaves task heads out, since attention does not depend on them. A task does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    PreTrainedModel,
)
from transformers.models.auto import modeling_auto as auto

from headscope.errors import ModelError, first_line
from headscope.models import Model, ModelName, load
from headscope.models.load import own_class, quiet_transformers
from headscope.models.sources import Origin
from headscope.models.weights import lacking_weights
from headscope.trace import surveyed
from headscope.types import TaskName

Head = Literal["writing", "question-answering", "classification", "masked-lm", "next-token"]


@dataclass(frozen=True)
class _Kind:
    """One kind of task head."""

    task: TaskName
    words: str
    loader: Any
    mappings: tuple[Mapping[str, str | tuple[str, ...]], ...]
    """The classes that have it, as transformers lists them."""
    advice: str
    others: frozenset[str] = frozenset()
    """Classes that have it beside something else."""

    @cached_property
    def classes(self) -> frozenset[str]:
        """The names of the classes that have it."""
        listed = [name for mapping in self.mappings for name in mapping.values()]
        return self.others.union(*([name] if isinstance(name, str) else name for name in listed))


_KINDS: dict[Head, _Kind] = {
    # First, as transformers lists BART's among those that predict masked tokens too.
    "writing": _Kind(
        "lm",
        "head that writes text",
        AutoModelForSeq2SeqLM,
        (auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,),
        "use an encoder-decoder, such as t5-small",
    ),
    "question-answering": _Kind(
        "qa",
        "question-answering head",
        AutoModelForQuestionAnswering,
        (auto.MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES,),
        "use demo-qa or a model fine-tuned on questions",
    ),
    "classification": _Kind(
        "classification",
        "classification head",
        AutoModelForSequenceClassification,
        (auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES,),
        "use demo-mrpc or a model fine-tuned to classify",
    ),
    "masked-lm": _Kind(
        "mlm",
        "masked-language-model head",
        AutoModelForMaskedLM,
        (auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,),
        "use demo or another pretrained encoder, such as bert-base-uncased",
        # ELECTRA's discriminator, which is for pretraining too, does not predict tokens.
        frozenset(
            str(name)
            for name in auto.MODEL_FOR_PRETRAINING_MAPPING_NAMES.values()
            if str(name).endswith("BertForPreTraining") or name == "AlbertForPreTraining"
        ),
    ),
    "next-token": _Kind(
        "lm",
        "next-token head",
        AutoModelForCausalLM,
        (auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,),
        "use a causal language model, such as gpt2",
        frozenset({"BlipTextLMHeadModel"}),
    ),
}


_READS_IMAGES = frozenset(
    name
    for listed in auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES.values()
    for name in ([listed] if isinstance(listed, str) else listed)
)


def ready_task(network: PreTrainedModel) -> TaskName | None:
    """What a network predicts as it is; None when its task head is not there."""
    return next((kind.task for head, kind in _KINDS.items() if has_head(network, head)), None)


def with_task_head(model: Model, task: TaskName, *, allow_pickle: bool = False) -> Model:
    """The model with the head that the task needs: itself, or loaded again with it."""
    if ready_task(model.network) == task:
        return model
    writes = model.is_encoder_decoder and task == "lm"
    fitting: list[Head] = [head for head, kind in _KINDS.items() if kind.task == task]
    return with_head(model, "writing" if writes else fitting[-1], allow_pickle=allow_pickle)


def has_head(network: PreTrainedModel, head: Head) -> bool:
    """Whether the network has the head, by its class or one that its class is derived from."""
    return _is_with(type(network), head, network.config)


def _is_with(kind: type, head: Head, config: Any) -> bool:
    names = {base.__name__ for base in kind.__mro__}
    if names & _KINDS[head].classes:
        return True
    # Models that read images and write text are listed apart, those with and without an encoder of text alike.
    writes: Head = "writing" if config.is_encoder_decoder else "next-token"
    return head == writes and bool(names & _READS_IMAGES)


def with_head(model: ModelName, head: Head, *, allow_pickle: bool = False) -> Model:
    """The model with a task head: itself if it has it, else loaded again from where it came from, with it.

    The weights are read again, in the model's precision and onto its device, and must hold all of the head; nothing
    is made up. `allow_pickle`: see `headscope.load`.
    """
    model = model if isinstance(model, Model) else load(model, allow_pickle=allow_pickle)
    if has_head(model.network, head):
        return model
    kind = _KINDS[head]
    if head == "next-token" and model.is_encoder_decoder:
        raise ModelError(
            f"{model.name} is an encoder-decoder, whose next token depends on what it reads beside; use the task "
            "seq2seq on pairs of texts (--task seq2seq --data pairs.tsv)"
        )
    origin = _origin(model, allow_pickle=allow_pickle)
    if not origin.source or origin.tower is not None:
        part = "" if origin.tower is None else f"the {origin.tower} tower of "
        advice = "wrap a network that has one" if origin.tower is None else kind.advice
        raise ModelError(f"{part}{model.name} ({model.architecture}) has no {kind.words}; {advice}")
    try:
        with quiet_transformers():
            network, info = _class_with(head, model.config).from_pretrained(
                origin.source, dtype=model.dtype, **origin.weights
            )
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # such as an architecture for which transformers has no such head
        known = "Unrecognized configuration class" in str(error)
        reason = "" if known else f" ({first_line(error)})"
        raise ModelError(f"{model.name} has no {kind.words}{reason}; {kind.advice}") from error
    if lacking_weights(network, info["missing_keys"]) or info["mismatched_keys"]:
        raise ModelError(f"{model.name} has no {kind.words}; {kind.advice}")
    _check_same(model, network)
    if not origin.is_placed:
        network.to(model.device)
    headed = replace(model, network=network.eval())
    if head == "next-token":
        check_causal(headed)
    return headed


def _origin(model: Model, *, allow_pickle: bool) -> Origin:
    """Where the model's weights can be read again; of a network that was in memory, where it says it came from."""
    if model.origin.source:
        return replace(model.origin, allow_pickle=allow_pickle or model.origin.allow_pickle)
    source = model.network.name_or_path or ""
    return Origin(source, model.name, revision=model.revision, allow_pickle=allow_pickle)


def _class_with(head: Head, config: Any) -> Any:
    """The class to load a head with: what transformers chooses, or the checkpoint's own where it knows of none."""
    loader, own = _KINDS[head].loader, own_class(config)
    if type(config) in loader._model_mapping or own is None or not _is_with(own, head, config):
        return loader
    return own


def check_causal(model: Model) -> None:
    """Raise unless the network reads from left to right: BERT's has a next-token head, but need not be causal."""
    if not all(grid.causal for grid in surveyed(model).stacks.grids):
        raise ModelError(
            f"{model.name} ({model.architecture}) sees the tokens it is to predict; use the task mlm, or a causal "
            "language model, such as gpt2"
        )


def check_head(model: Model, head: Head) -> None:
    """Raise unless the model has the head."""
    if has_head(model.network, head):
        return
    # Never loaded in silence: an edit of the model that was given would not reach the new one.
    raise ModelError(
        f"{model.name} has no {_KINDS[head].words} here ({model.architecture}); load it with one: "
        f'model = headscope.with_head(model, "{head}")'
    )


def _check_same(model: Model, network: PreTrainedModel) -> None:
    """Raise when the weights that were read are not those in memory, which may have been trained or pruned since."""
    known = dict(model.core.named_parameters())
    for name, parameter in network.base_model.named_parameters():
        own = known.get(name)
        # A head may come with a pooler that the core lacks, or the core with one made up for want of it.
        # Weights of 4 bits are packed anew when they are first used.
        if own is None or "pooler" in name or not own.is_floating_point():
            continue
        ours, theirs = own.detach().cpu(), parameter.detach().cpu()
        # What is nan in both is the same; that it is nan is told where it matters.
        same = ours.shape == theirs.shape and torch.allclose(ours, theirs, rtol=0, atol=0, equal_nan=True)
        if not same:
            raise ModelError(
                f"{model.name}: the weights in memory are not those it was loaded from ({name} differs); wrap the "
                "changed network together with its head"
            )
