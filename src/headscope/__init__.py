"""headscope: what the attention heads of a transformer do, and whether it matters.

The public names, loaded when first used, so that `import headscope` and the command line start at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope import figures as figures
    from headscope.ablation import ablate as ablate
    from headscope.atlas import Atlas as Atlas
    from headscope.atlas import open_atlas
    from headscope.comparison import compare as compare
    from headscope.comparison import match as match
    from headscope.data import sample_path as sample_path
    from headscope.edits import edit as edit
    from headscope.edits import mean_outputs as mean_outputs
    from headscope.edits import prune as prune
    from headscope.errors import HeadscopeError as HeadscopeError
    from headscope.explanation import explain as explain
    from headscope.facts.card import card as card
    from headscope.facts.findings import findings as findings
    from headscope.importance import gradient_importance as gradient_importance
    from headscope.kinds import Likeness as Likeness
    from headscope.kinds import feature_map as feature_map
    from headscope.kinds import head_map as head_map
    from headscope.kinds import head_types as head_types
    from headscope.known_heads import known as known
    from headscope.measures import MEASURES as MEASURES
    from headscope.models import Model as Model
    from headscope.models import load as load
    from headscope.models import wrap as wrap
    from headscope.probes import CoreferenceProbe as CoreferenceProbe
    from headscope.probes import DependencyProbe as DependencyProbe
    from headscope.probes import FeaturesProbe as FeaturesProbe
    from headscope.probes import ParserProbe as ParserProbe
    from headscope.probes import RelationsProbe as RelationsProbe
    from headscope.probes import parser_table as parser_table
    from headscope.probes.patterns import find_patterns as find_patterns
    from headscope.report import write_report as write_report
    from headscope.run import analyze as analyze
    from headscope.search import find as find
    from headscope.tasks import task_for as task_for
    from headscope.tasks import with_head as with_head
    from headscope.text import read_arrows as read_arrows
    from headscope.text import read_coreference as read_coreference
    from headscope.text import read_minimal_pairs as read_minimal_pairs
    from headscope.text import read_pairs as read_pairs
    from headscope.text import read_roles as read_roles
    from headscope.text import read_text as read_text
    from headscope.text import read_treebank as read_treebank
    from headscope.text.annotated.spacy import annotate as annotate
    from headscope.usage import uses as uses
    from headscope.widget import view as view
    from headscope.writing import writes as writes

    open = open_atlas  # by assignment: type checkers take a renaming import for a private one

_MODULES = {
    "headscope.ablation": ("ablate",),
    "headscope.atlas": ("Atlas", "open"),
    "headscope.comparison": ("compare", "match"),
    "headscope.data": ("sample_path",),
    "headscope.edits": ("edit", "mean_outputs", "prune"),
    "headscope.errors": ("HeadscopeError",),
    "headscope.explanation": ("explain",),
    "headscope.facts.card": ("card",),
    "headscope.facts.findings": ("findings",),
    "headscope.figures": ("figures",),
    "headscope.importance": ("gradient_importance",),
    "headscope.kinds": ("Likeness", "feature_map", "head_map", "head_types"),
    "headscope.known_heads": ("known",),
    "headscope.measures": ("MEASURES",),
    "headscope.models": ("Model", "load", "wrap"),
    "headscope.probes": (
        "CoreferenceProbe",
        "DependencyProbe",
        "FeaturesProbe",
        "ParserProbe",
        "RelationsProbe",
        "parser_table",
    ),
    "headscope.probes.patterns": ("find_patterns",),
    "headscope.report": ("write_report",),
    "headscope.run": ("analyze",),
    "headscope.search": ("find",),
    "headscope.tasks": ("task_for", "with_head"),
    "headscope.text": (
        "read_arrows",
        "read_coreference",
        "read_minimal_pairs",
        "read_pairs",
        "read_roles",
        "read_text",
        "read_treebank",
    ),
    "headscope.text.annotated.spacy": ("annotate",),
    "headscope.usage": ("uses",),
    "headscope.widget": ("view",),
    "headscope.writing": ("writes",),
}
"""Where the public names are."""

_PUBLIC = dict(sorted((name, module) for module, names in _MODULES.items() for name in names))
_SPELLED = {"open": "open_atlas"}  # there, so as not to hide the built-in function

__all__ = list(_PUBLIC)  # pyright: ignore


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("headscope")  # slow to load
    if name not in _PUBLIC:
        raise AttributeError(f"module 'headscope' has no attribute {name!r}")
    loaded = import_module(_PUBLIC[name])
    value = loaded if name == "figures" else getattr(loaded, _SPELLED.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
