"""Whether the heads of models can be laid side by side: the same tokens, the same shape, the same batches."""

from collections.abc import Callable, Iterator, Sequence

from headscope.errors import OptionError
from headscope.models import Model
from headscope.passes.options import BatchSize
from headscope.passes.reader import Reader, ReadText
from headscope.passes.run_pass import S
from headscope.text.batching import Bucketed
from headscope.text.encode import TextEncoder
from headscope.trace import Capture
from headscope.trace.watch import Watch


def check_tokenizers(first: Model, second: Model) -> None:
    """Raise OptionError unless both have the same vocabulary: maps of different tokens cannot be laid side by side."""
    mine, theirs = first.tokenizer.get_vocab(), second.tokenizer.get_vocab()
    if mine == theirs:
        return
    differing = next(token for token in [*mine, *theirs] if mine.get(token) != theirs.get(token))
    raise OptionError(
        f"{first.name} ({len(mine):,} entries) and {second.name} ({len(theirs):,} entries) have different tokenizers, "
        f"such as at {differing!r}, so their attention maps are over different tokens; compare models that share one, "
        "or what does not depend on tokens: headscope probe features A --against B --treebank FILE"
    )


def check_shapes(first: Capture, second: Capture) -> None:
    """Raise OptionError unless both have the same stacks, layers and heads."""
    if first.stacks.grids == second.stacks.grids:
        return
    shapes = [
        ", ".join(f"{grid.stack} of {grid.layers} layers x {grid.heads} heads" for grid in stacks.grids)
        for stacks in (first.stacks, second.stacks)
    ]
    raise OptionError(
        f"{first.model.name} ({shapes[0]}) and {second.model.name} ({shapes[1]}) differ in shape, so their heads "
        "cannot be compared one by one; to pair them by their attention: headscope match A B --text FILE; to compare "
        "shares and layer means: headscope patterns A B --text FILE, or headscope analyze and headscope types on each"
    )


def read_alike(
    reader: Reader,
    watches: Sequence[Watch],
    state: S,
    count: Callable[[S, list[ReadText]], None],
    *,
    batch_size: BatchSize,
    who: str | None,
) -> S:
    """Fill the state with texts, of which the first two models read the same tokens, in batches that suit all models.

    `who` they are is told on the way, None tells nothing.
    """
    longest, sizes = reader.encoder.max_length, [watch.texts_at(batch_size) for watch in watches]
    batches = Bucketed(lambda length: min(size(length) for size in sizes), longest)
    texts = _same_tokens(reader, watches[1].encoder(longest))
    return reader.through(state, count, batches=batches, who=who, texts=texts)


def told_alike(first: Model, second: Model, reader: Reader) -> Iterator[str]:
    """What to know of any two models and the texts that they read."""
    if first.weights_hash == second.weights_hash:
        yield f"{first.name} and {second.name} have the same weights"
    if note := reader.cut_note():
        yield note


def _same_tokens(reader: Reader, second: TextEncoder) -> Iterator[ReadText]:
    """The texts as they come; raises OptionError for one that the `second` encoder turns into other tokens.

    The same vocabulary does not make the same tokenizer: one may keep capitals, or leave out a [SEP].
    """
    for text in reader:
        if second.encode(text.pair) != text.encoded:
            raise OptionError(
                f"the two models' tokenizers split text {text.number} (counted from 0) of {reader.corpus.name} into "
                f"different tokens, so their attention maps cannot be compared: {text.pair.first[:40]!r}"
            )
        yield text
