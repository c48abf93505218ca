"""Linguistic features in pictures: what [CLS] of the last layer gives each class of words."""

import numpy as np
from matplotlib.axes import Axes

from headscope.atlas import Atlas
from headscope.facts.slices import HeadValues, stack_with
from headscope.facts.vocabulary import class_name
from headscope.figures.grid import SHARE_STEPS, draw_values
from headscope.figures.theme import TICK_SIZE, axes, finite


def cls_attention(
    atlas: Atlas, *, against: bool = False, stack: str | None = None, ax: Axes | None = None
) -> Axes:
    """What [CLS] of the last layer gives each class, classes down and heads across.

    `against` shows the second model of the probe. (The form of Kovaleva et al. 2019, figure 7.)
    """
    measure = f"feature_attention_cls{'_against' if against else ''}"
    name = stack_with(atlas, measure, stack)
    array = atlas.stack(name)[measure].transpose("feature", "head")
    values = np.asarray(array.values, dtype=float)
    most = max(finite(values), default=0.0)
    picked = HeadValues(values, None, measure, {}, name, "1")
    ax = axes(ax, size=(5.4, 3.4))
    high = next((step for step in SHARE_STEPS if most <= step), 1.0)
    draw_values(picked, title="Attention of [CLS] in the last layer", limits=(0.0, high), ax=ax)
    classes = [class_name(atlas, name, str(feature)) for feature in array["feature"].values]
    ax.set_yticks(range(len(classes)), classes, fontsize=TICK_SIZE)
    ax.set_ylabel("")
    return ax
