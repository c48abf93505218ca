"""Letting a model go on with a text, token by token with its cache on, while every head is watched.

The loop is our own and not that of transformers, which mixes in the settings of the checkpoint: penalties, forced
tokens, sampling. Here a token is the most probable one, or is drawn by temperature and seed alone.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headscope.errors import ModelError, OptionError, TextError
from headscope.generation.continued import continued
from headscope.generation.result import Generated
from headscope.models import Model, ModelName, loaded
from headscope.tasks.heads import ready_task, with_task_head
from headscope.text.encode import EncodedInput, EncodedText, TextEncoder
from headscope.text.items import TextPair
from headscope.trace import AttentionCall, Capture, Forward, following, surveyed
from headscope.trace.architecture import Place
from headscope.trace.inputs import model_inputs
from headscope.trace.observe import evaluating, is_edited
from headscope.trace.watch import Watch
from headscope.types import CLS, Array, HeadGrid

TOKENS = 40
MOST_WEIGHTS = 1 << 28
"""How many weights are held at a time: 1 GiB of them."""
_NO_LIMIT = 1 << 20
Between = Callable[[], None]
"""Called before every token; may raise, which ends the run."""


def generate(
    model: ModelName,
    prompt: str,
    *,
    tokens: int = TOKENS,
    temperature: float = 0.0,
    seed: int = 0,
    watch: bool = True,
    between: Between | None = None,
) -> Generated:
    """Let a model write up to `tokens` tokens after the prompt, and keep where every head looked at each of them.

    The most probable token each time, or with a `temperature` above 0 one drawn with `seed`. Edits that are in force
    act. Models that read one text and write another read the prompt. The last token is read too, so that every token
    has its row: the maps are those of prompt and output as one text. Without `watch` only the text is kept. `between`
    is called before every token, and may raise.
    """
    if tokens < 1 or temperature < 0:
        raise OptionError(
            f"give at least 1 token and a temperature of at least 0, not {tokens} and {temperature:g}"
        )
    if not prompt.strip():
        raise TextError("the prompt is empty; give some words to go on with")
    model = _writing(loaded(model))
    capture = surveyed(model)
    begun = _Begun.of(capture, prompt, tokens)
    maps = _Maps(begun.sizes(tokens), capture.stacks.grids)
    writer, draw = _Writer(model, begun.inputs(model)), _Draw(temperature, seed)
    ends, written = _ends(model), list[int]()
    with ExitStack() as inside:
        if watch:
            maps.check(model)
            inside.enter_context(following(capture, capture.stacks.places, maps.see))
        inside.enter_context(evaluating(model.network))
        inside.enter_context(torch.inference_mode())
        is_done = False
        scores = writer.begin()
        while not is_done:
            if between is not None:
                between()
            written.append(draw(scores))
            is_done = written[-1] in ends or len(written) == tokens
            if watch or not is_done:
                scores = writer.go_on(written[-1])
    return begun.result(capture, written, maps.whole(), ended=written[-1] in ends)


@dataclass(frozen=True)
class _Begun:
    """A prompt as a model is given it."""

    prompt: str
    encoder: TextEncoder
    source: EncodedText
    target: EncodedText | None

    @classmethod
    def of(cls, capture: Capture, prompt: str, tokens: int) -> "_Begun":
        model = capture.model
        limit = model.max_length or _NO_LIMIT
        encoder = Watch(capture).encoder(limit)
        encoded = encoder.encode(TextPair(prompt))
        if not model.is_encoder_decoder:
            source = _open_ended(encoded.source, model, prompt)
            if encoded.cut or len(source) + tokens > limit:
                raise OptionError(
                    f"the prompt has {'more than ' * encoded.cut}{len(source):,} tokens and {tokens:,} are to follow; "
                    f"{model.name} takes {limit:,} in all"
                )
            return cls(prompt, encoder, source, None)
        if encoder.decoder_start is None:
            raise OptionError(
                f"{model.name} names no decoder start token in its config, so it cannot begin to write"
            )
        if encoded.cut:
            raise OptionError(f"the prompt is longer than the {limit:,} tokens that {model.name} takes")
        return cls(
            prompt, encoder, encoded.source, EncodedText([encoder.decoder_start], [CLS], [-1], [-1], [-1])
        )

    def inputs(self, model: Model) -> dict[str, Tensor]:
        return model_inputs(model, [EncodedInput(self.source, self.target)]).inputs

    def sizes(self, tokens: int) -> dict[str, tuple[int, int]]:
        """How many queries and keys each stack has when so many tokens are written."""
        read, written = len(self.source), len(self.target or self.source) + tokens
        return {"encoder": (read, read), "cross": (written, read), "decoder": (written, written)}

    def result(
        self, capture: Capture, written: list[int], maps: Mapping[Place, Array], *, ended: bool
    ) -> Generated:
        begun = self.target or self.source
        whole = continued(self.encoder, begun, "" if self.target else self.prompt, written)
        source = self.source if self.target else whole.encoded
        return Generated(
            capture.model,
            self.prompt,
            whole.output,
            EncodedInput(source, whole.encoded if self.target else None),
            self.encoder,
            whole.spans,
            whole.text,
            len(begun),
            capture.stacks.grids,
            maps,
            ended,
        )


class _Writer:
    """One forward pass after the other, with the cache on: tokens go in, the scores of the next one come out."""

    def __init__(self, model: Model, inputs: Mapping[str, Tensor]) -> None:
        self.model = model
        self.inputs = inputs
        self.network: Any = model.network
        self.read: dict[str, Any] = {}
        self.cache: Any = None

    def begin(self) -> Tensor:
        """(vocabulary,) after the prompt."""
        if not self.model.is_encoder_decoder:
            return self._scores(self.inputs["input_ids"])
        mask = self.inputs["attention_mask"]
        encoder = self.network.get_encoder()
        read = encoder(input_ids=self.inputs["input_ids"], attention_mask=mask, return_dict=True)
        self.read = {"encoder_outputs": read, "attention_mask": mask}
        return self._scores(self.inputs["decoder_input_ids"])

    def go_on(self, token: int) -> Tensor:
        """(vocabulary,) after one more token."""
        return self._scores(torch.tensor([[token]], device=self.model.device))

    def _scores(self, fed: Tensor) -> Tensor:
        name = "decoder_input_ids" if self.model.is_encoder_decoder else "input_ids"
        output = self.network(
            **{name: fed}, **self.read, past_key_values=self.cache, use_cache=True, return_dict=True
        )
        self.cache = getattr(output, "past_key_values", None)
        if self.cache is None:
            raise ModelError(
                f"{self.model.name} ({self.model.architecture}) keeps no cache, so its tokens cannot be watched as "
                "they are made"
            )
        scores: Tensor = output.logits[0, -1]
        return scores


@dataclass
class _Draw:
    """How the next token is chosen: the most probable, or by chance at a temperature above 0."""

    temperature: float
    seed: int
    _chance: torch.Generator = field(init=False)

    def __post_init__(self) -> None:
        self._chance = torch.Generator().manual_seed(self.seed)

    def __call__(self, scores: Tensor) -> int:
        if not self.temperature:
            return int(scores.argmax())
        shares = (scores.double().cpu() / self.temperature).softmax(-1)
        return int(torch.multinomial(shares, 1, generator=self._chance))


class _Maps:
    """The attention of all steps, put together: rows below each other, columns where their keys stand."""

    def __init__(self, sizes: Mapping[str, tuple[int, int]], grids: tuple[HeadGrid, ...]) -> None:
        self.sizes = sizes
        self.weights = sum(grid.size * sizes[grid.stack][0] * sizes[grid.stack][1] for grid in grids)
        self.maps: dict[Place, Array] = {}
        self.rows: dict[Place, int] = {}

    def check(self, model: Model) -> None:
        """Raise OptionError for more weights than are held."""
        if self.weights > MOST_WEIGHTS:
            raise OptionError(
                f"prompt and output in {model.name} make {self.weights:,} weights, and {MOST_WEIGHTS:,} are held; give "
                "a shorter prompt or fewer tokens, or watch=False for the text alone"
            )

    def see(self, place: Place, call: AttentionCall, forward: Forward) -> AttentionCall:
        """Keep the rows of one step of one layer."""
        weights = call.weights[0].detach().float().cpu().numpy()  # (head, query, key)
        heads, queries, keys = weights.shape
        size = self.sizes[place.stack]
        whole = self.maps.setdefault(place, np.zeros((heads, *size), np.float32))
        row = self.rows.get(place, 0)
        # Layers that look back a little only may keep no more keys than that: they are the last ones.
        last = row + queries if place.stack == "decoder" else keys
        seen = min(keys, last)
        whole[:, row : row + queries, last - seen : last] = weights[..., :seen]
        self.rows[place] = row + queries
        return call

    def whole(self) -> dict[Place, Array]:
        """(head, query, key) by place, without the rows of tokens that were not written."""
        sizes = {place: self.rows[place] if place.stack == "decoder" else None for place in self.maps}
        return {
            place: weights[:, : self.rows[place], : sizes[place]].copy()
            for place, weights in self.maps.items()
        }


def _writing(model: Model) -> Model:
    """The model with the head that it writes with; never another network than the one that is being edited."""
    if not model.is_encoder_decoder and not surveyed(model).stacks.grids[0].causal:
        raise ModelError(
            f"{model.name} ({model.architecture}) sees a whole text at once and writes none; give a decoder, such as "
            "demo-lm or gpt2, or an encoder-decoder"
        )
    if ready_task(model.network) == "lm":
        return model
    if is_edited(model.network):
        raise ModelError(
            f"{model.name} is being edited and has no head that writes; load it with one before the edit: "
            'model = headscope.with_head(model, "next-token")'
        )
    return with_task_head(model, "lm")


def _ends(model: Model) -> frozenset[int]:
    """The tokens that end a text."""
    named = [model.tokenizer.eos_token_id]
    for config in (model.config, getattr(model.network, "generation_config", None)):
        ids = getattr(config, "eos_token_id", None)
        named += ids if isinstance(ids, list) else [ids]
    return frozenset(token for token in named if token is not None)


def _open_ended(source: EncodedText, model: Model, prompt: str) -> EncodedText:
    """Without the end that some tokenizers put after every text."""
    end = model.tokenizer.eos_token
    if end is None or source.ids[-1] != model.tokenizer.eos_token_id or prompt.rstrip().endswith(end):
        return source
    if len(source) < 2:
        return source
    names = ("ids", "role", "segment", "word", "word_type")
    return replace(source, **{name: getattr(source, name)[:-1] for name in names})
