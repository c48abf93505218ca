"""Where heads look against what they move from there (after Kobayashi et al. 2020)."""

from matplotlib.axes import Axes

from headscope.atlas import Atlas
from headscope.atlas.files import MOVED
from headscope.errors import AtlasError
from headscope.facts.head_arrays import stack_arrays
from headscope.facts.slices import head_values
from headscope.facts.vocabulary import role_name
from headscope.figures.style.colours import RULE, SERIES
from headscope.figures.style.theme import axes, dress, label_points, legend
from headscope.types import HeadId

ROLES = ("cls", "sep", "period", "comma")
MARKERS = ("o", "s", "^", "D")
NAMED = 2
"""How many heads are named for each kind of token: those farthest from taking what they look at."""


def looked_and_moved(atlas: Atlas, *, stack: str | None = None, ax: Axes | None = None) -> Axes:
    """Each head's share of attention to special tokens and punctuation (across), and what it takes from them (up).

    On the line a head takes as much as it looks at; below it, it looks and fetches little.
    """
    name = stack or atlas.stacks[0]
    arrays = atlas.stack(name)
    if "role_attention" + MOVED not in arrays:
        raise AtlasError(
            "this atlas does not say what heads move; analyse again with: headscope analyze --weigh both"
        )
    ax = axes(ax, size=(5.2, 4.4))
    points: list[tuple[float, float, float, str]] = []
    measured = stack_arrays(atlas, name)["role_attention"].choices("role")
    looks = zip(ROLES, SERIES, MARKERS, strict=False)
    shown = [(role, colour, marker) for role, colour, marker in looks if role in measured]
    for role, colour, marker in shown:
        select = {"role": role, "query_role": "all"}
        looked, moved = (
            head_values(atlas, measure, select=select, stack=name).values
            for measure in ("role_attention", "role_attention" + MOVED)
        )
        ax.plot(
            looked.ravel(),
            moved.ravel(),
            marker,
            color=colour,
            markersize=3.5,
            alpha=0.75,
            markeredgewidth=0,
            label=role_name(atlas, name, role),
        )
        farthest = sorted(
            (-abs(y - x), x, y, str(HeadId(*divmod(number, looked.shape[1]))))
            for number, (x, y) in enumerate(zip(looked.ravel(), moved.ravel(), strict=True))
        )
        points += farthest[:NAMED]
    largest = max(ax.get_xlim()[1], ax.get_ylim()[1])
    ax.plot([0, largest], [0, largest], color=RULE, linewidth=1, zorder=0)
    ax.set_xlim(0, largest)
    ax.set_ylim(0, largest)
    label_points(ax, [(x, y, text) for _, x, y, text in sorted(points)])
    dress(
        ax, title="Where heads look, and what they take", x="share of attention", y="share of what is moved"
    )
    legend(ax, columns=len(shown))
    return ax
