"""What a model can predict, told by its task head."""

from collections.abc import Iterable
from typing import Literal

from transformers import AutoModelForSeq2SeqLM, PreTrainedModel

from headscope.errors import ModelError
from headscope.models import Model, wrap
from headscope.models.quiet import quiet_transformers
from headscope.tasks import has_head, with_head
from headscope.tasks.heads import Head

TaskName = Literal["mlm", "qa", "classification", "lm"]

_HEADS: dict[TaskName, Head] = {
    "qa": "question-answering",
    "classification": "classification",
    "mlm": "masked-lm",
    "lm": "next-token",
}
_ENDINGS: dict[str, TaskName] = {
    "ForQuestionAnswering": "qa",
    "ForQuestionAnsweringSimple": "qa",
    "ForSequenceClassification": "classification",
    "ForMaskedLM": "mlm",
    "WithLMHeadModel": "mlm",
    "BertForPreTraining": "mlm",
    "LMHeadModel": "lm",
    "ForCausalLM": "lm",
    "ForConditionalGeneration": "lm",
}
"""How the names of classes end; the first that fits counts."""

_WRITES = "ForConditionalGeneration"


def task_of(classes: Iterable[str]) -> TaskName | None:
    """What a model predicts whose config names these classes; None when none of them predicts."""
    for name in classes:
        for ending, task in _ENDINGS.items():
            if name.endswith(ending):
                return task
    return None


def ready_task(network: PreTrainedModel) -> TaskName | None:
    """What a network predicts as it is; None when its task head is not there."""
    if type(network).__name__.endswith(_WRITES):
        return "lm"
    return next((task for task, head in _HEADS.items() if has_head(network, head)), None)


def with_task_head(model: Model, task: TaskName, *, allow_pickle: bool = False) -> Model:
    """The model with the head that the task needs: itself, or loaded again with it."""
    if ready_task(model.network) == task:
        return model
    if model.is_encoder_decoder and task == "lm":
        return _writing(model, allow_pickle=allow_pickle)
    return with_head(model, _HEADS[task], allow_pickle=allow_pickle)


def _writing(model: Model, *, allow_pickle: bool) -> Model:
    """An encoder-decoder with the head that chooses the next token."""
    source = model.network.name_or_path
    if not source:
        raise ModelError(
            f"{model.name} ({model.architecture}) has no head that writes text; wrap one that has"
        )
    try:
        with quiet_transformers():
            network, info = AutoModelForSeq2SeqLM.from_pretrained(
                source,
                revision=model.revision,
                dtype=model.dtype,
                use_safetensors=None if allow_pickle else True,
                trust_remote_code=False,
                output_loading_info=True,
            )
    except (OSError, ValueError) as error:
        raise ModelError(
            f"{model.name} has no head that writes text: {str(error).splitlines()[0]}"
        ) from error
    if info["missing_keys"]:
        raise ModelError(
            f"{model.name} has no head that writes text; its weights lack {info['missing_keys']}"
        )
    return wrap(network.to(model.device).eval(), model.tokenizer, name=model.name, revision=model.revision)
