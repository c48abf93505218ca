"""What a model wrote, ready to be shown: prompt and output as one text, every head as it was at each token."""

from headscope.facts.vocabulary import own_name
from headscope.facts.wording import count
from headscope.generation import Generated
from headscope.pages.seen import Observed, map_key, shape_of
from headscope.pages.tokens import tokens_of


def observed_writing(generated: Generated) -> Observed:
    """A text that was watched while a model wrote it."""
    model, encoder = generated.model, generated.encoder
    source, target = generated.encoded.source, generated.encoded.target
    written = tokens_of(encoder, target or source, [generated.text], spans=generated.spans)
    written = written.model_copy(update={"generated": generated.generated})
    end = " and ended its text" if generated.ended else ""
    return Observed(
        model=own_name(model.name),
        architecture=model.architecture,
        text_a=generated.prompt,
        text_b=None if target is None else generated.output,
        output=generated.output,
        source=written if target is None else tokens_of(encoder, source, [generated.prompt]),
        target=None if target is None else written,
        stacks=[shape_of(model, grid) for grid in generated.grids],
        maps={map_key(place.stack, place.layer): weights for place, weights in generated.maps.items()},
        rotated=model.is_rotated,
        note=f"{model.name} wrote {count(sum(generated.generated), 'token')}{end}; they are underlined.",
        weigh_note="while a model writes, only where its heads look is kept",
    )
