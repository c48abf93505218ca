"""The public names, and where they are: read by type checkers, and by `__init__.py` at run time."""

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
from headscope.generation import generate as generate
from headscope.importance import gradient_importance as gradient_importance
from headscope.kinds.kinds import head_types as head_types
from headscope.kinds.likeness import Likeness as Likeness
from headscope.kinds.map import feature_map as feature_map
from headscope.kinds.map import head_map as head_map
from headscope.known_heads import known as known
from headscope.measures import MEASURES as MEASURES
from headscope.models import Model as Model
from headscope.models import load as load
from headscope.models import wrap as wrap
from headscope.passes.analyze import analyze as analyze
from headscope.passes.checkpoint import checkpoint as checkpoint
from headscope.probes import CoreferenceProbe as CoreferenceProbe
from headscope.probes import DependencyProbe as DependencyProbe
from headscope.probes import FeaturesProbe as FeaturesProbe
from headscope.probes import RelationsProbe as RelationsProbe
from headscope.probes.explained import explained_with_syntax as explained_with_syntax
from headscope.probes.patterns import find_patterns as find_patterns
from headscope.report import write_report as write_report
from headscope.search import find as find
from headscope.tasks import task_for as task_for
from headscope.tasks import with_head as with_head
from headscope.text import read_arrows as read_arrows
from headscope.text import read_coreference as read_coreference
from headscope.text import read_dataset as read_dataset
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
__version__: str
