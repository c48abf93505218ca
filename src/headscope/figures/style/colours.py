"""Colours: ramps of even steps in lightness, so that they read alike in print and for every kind of sight."""

import json
from importlib.resources import files
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap, to_hex

LEVELS = 64

INK = "#22262b"
MUTED = "#6a7079"
RULE = "#d6dade"
PAPER = "#ffffff"
NO_DATA = "#c9ced4"
ACCENT = "#2f6db5"
ON_LOW = "#24282d"
ON_HIGH = "#fdfdff"

_BLUE, _PLUM, _ORANGE = 255.0, 335.0, 50.0
_LAYERS = (85.0, 300.0)  # degrees of hue: first layers yellow, then green, blue, last ones violet


def ramp(
    light_from: float, light_to: float, *, hue: tuple[float, float], chroma: tuple[float, float]
) -> list[str]:
    """LEVELS colours whose lightness, hue and chroma change in even steps of OKLCH (Ottosson 2020)."""
    lightness = np.linspace(light_from, light_to, LEVELS)
    strength = np.linspace(*chroma, LEVELS)
    angle = np.radians(np.linspace(*hue, LEVELS))
    oklab = np.stack([lightness, strength * np.cos(angle), strength * np.sin(angle)], -1)  # (level, L a b)
    return [to_hex(colour) for colour in _srgb(oklab)]


def _srgb(oklab: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """(level, red green blue) in [0, 1]; what the screen cannot show is clipped."""
    to_cones = np.array(
        [
            [1, 0.3963377774, 0.2158037573],
            [1, -0.1055613458, -0.0638541728],
            [1, -0.0894841775, -1.2914855480],
        ]
    )
    to_linear = np.array(
        [
            [4.0767416621, -3.3077115913, 0.2309699292],
            [-1.2684380046, 2.6097574011, -0.3413193965],
            [-0.0041960863, -0.7034186147, 1.7076147010],
        ]
    )
    linear = np.clip((oklab @ to_cones.T) ** 3 @ to_linear.T, 0, 1)
    srgb: np.ndarray[Any, Any] = np.where(
        linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055
    )
    return srgb


SHARE_RAMP = ramp(0.975, 0.34, hue=(_BLUE, _BLUE), chroma=(0.006, 0.125))
"""From nothing to much, on white: shares of attention."""

AMOUNT_RAMP = ramp(0.975, 0.34, hue=(_PLUM, _PLUM), chroma=(0.006, 0.125))
"""From little to much, on white: everything that is not a share, such as nats."""

LAYER_RAMP = ramp(0.79, 0.38, hue=_LAYERS, chroma=(0.10, 0.12))
"""From the first layer to the last; every step stands out from white."""

SIGNED_RAMP = [
    *ramp(0.45, 0.97, hue=(_ORANGE, _ORANGE), chroma=(0.125, 0.004))[::2],
    *ramp(0.97, 0.36, hue=(_BLUE - 5, _BLUE - 5), chroma=(0.004, 0.13))[1::2],
]
"""From far below 0, in orange, over nothing to far above 0, in blue.

No colour is that of another ramp: a page tells by the colour which ramp it is from.
"""

DARK_RAMPS = {
    "share": ramp(0.27, 0.93, hue=(_BLUE, _BLUE), chroma=(0.015, 0.06)),
    "amount": ramp(0.27, 0.93, hue=(_PLUM, _PLUM), chroma=(0.015, 0.06)),
    "layer": ramp(0.90, 0.58, hue=_LAYERS, chroma=(0.10, 0.12)),
    "signed": [
        *ramp(0.86, 0.27, hue=(_ORANGE, _ORANGE), chroma=(0.09, 0.008))[::2],
        *ramp(0.27, 0.93, hue=(_BLUE, _BLUE), chroma=(0.008, 0.06))[1::2],
    ],
}
"""The same ramps for a dark page, by name."""

LIGHT_RAMPS = {"share": SHARE_RAMP, "amount": AMOUNT_RAMP, "layer": LAYER_RAMP, "signed": SIGNED_RAMP}

COLOUR_MAPS = {
    name: ListedColormap(colours, name=name).with_extremes(bad=NO_DATA)
    for name, colours in LIGHT_RAMPS.items()
}

SERIES = ("#2f6db5", "#c2410c", "#0f766e", "#9a3fa0", "#7a5b00", "#4b5563")
"""For a few lines in one picture: told apart by lightness and hue, and by their markers."""


PALETTE: dict[str, dict[str, list[str]]] = json.loads(
    files("headscope.figures.style").joinpath("palette.json").read_text(encoding="utf-8")
)
"""Colours of heads and of kinds, on a light page and on a dark one; the front end is built from the same file."""

KINDS = tuple(PALETTE["kinds"]["light"])
"""For kinds of heads, in the order of their names."""

HEAD_COLOURS = tuple(PALETTE["heads"]["light"])
"""One a head: eight that are clearly different for every kind of sight, then eight more; they repeat after sixteen."""


def layer_colours(layers: int) -> list[str]:
    """One colour a layer, from the first to the last."""
    if layers == 1:
        return [LAYER_RAMP[LEVELS * 2 // 3]]
    return [LAYER_RAMP[round(layer * (LEVELS - 1) / (layers - 1))] for layer in range(layers)]
