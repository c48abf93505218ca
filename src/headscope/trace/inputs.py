"""From encoded texts to what a model is given, with a check that it knows every token."""

from collections.abc import Sequence

from headscope.errors import ModelError
from headscope.models.model import Model
from headscope.text.batching import TextBatch, collate
from headscope.text.encode import EncodedInput


def model_inputs(
    model: Model,
    texts: Sequence[EncodedInput],
    *,
    one_segment: bool = False,
    pad: int | None = None,
    moved: bool = True,
) -> TextBatch:
    """The texts as a padded batch on the model's device, or not yet `moved` there.

    Raises ModelError for a token that it has no embedding for.

    `pad` is the padding token to use rather than the tokenizer's; `one_segment`: see `collate`.
    """
    _check_tokens(model, texts)
    return collate(
        list(texts),
        pad=padding_token(model, pad),
        has_segments=model.has_segments,
        one_segment=one_segment,
        device=model.device if moved else None,
    )


def padding_token(model: Model, first: int | None = None) -> int:
    """The `first` choice, or else the tokenizer's, that the model has an embedding for; padding is masked anyway."""
    rows = model.vocabulary
    for pad in (first, model.tokenizer.pad_token_id):
        if pad is not None and pad >= 0 and (rows is None or pad < rows):
            return int(pad)
    return 0


def _check_tokens(model: Model, texts: Sequence[EncodedInput]) -> None:
    rows = model.vocabulary
    sides = [side for text in texts for side in (text.source, text.target) if side is not None]
    token = max((max(side.ids) for side in sides if side.ids), default=-1)
    if rows is not None and token >= rows:
        raise ModelError(
            f"{model.name}: a text holds token {token} ({model.tokenizer.convert_ids_to_tokens(token)!r}), and the "
            f"embedding table has {rows:,} rows for a tokenizer of {len(model.tokenizer):,} entries; use the tokenizer "
            "that the model was trained with, or give the network more rows and train them "
            "(network.resize_token_embeddings)"
        )
