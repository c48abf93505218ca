"""What Kovaleva et al. 2019 published in words and numbers.

Most of its figures are pictures. What can be read off them only is not here: the share of each pattern by task (but for
the heterogeneous one, whose ends the text gives), cosines by layer, attention of [CLS] in the last layer, and scores
with single heads disabled.
"""

from headscope.reproduce.table import Figure, Origin

CITATION = "Kovaleva, Romanov, Rogers and Rumshisky 2019: Revealing the Dark Secrets of BERT. EMNLP-IJCNLP"
MODEL = "bert-base, 12 layers x 12 heads"
SHAPE = (12, 12)

_TUNED, _BOTH = f"{MODEL}, fine-tuned", f"{MODEL}, pre-trained and fine-tuned"
_GLUE = "seven GLUE tasks, up to 1,000 examples of each"

MAPS = Origin(_BOTH, "GLUE tasks", "figure 1")
PATTERNS = Origin(_TUNED, _GLUE, "section 4.1, figure 2")
CLASSIFIER = Origin("a network of 8 convolutional layers", "about 400 maps annotated by hand", "section 4.1")
ROLES = Origin(
    f"{MODEL}, pre-trained", "FrameNet, 473 sentences of at most 12 tokens", "section 4.2, figure 3"
)
CHANGE = Origin(_BOTH, _GLUE, "section 4.3, figure 5")
FEATURES = Origin(_BOTH, "GLUE tasks", "section 4.4, figure 6")
CLS_QUERY = Origin(_TUNED, "GLUE tasks", "section 4.5, figure 7")
DISABLED_HEADS = Origin(_TUNED, "seven GLUE tasks, their validation sets", "section 4.6, figure 8")
DISABLED_LAYERS = Origin(_TUNED, "seven GLUE tasks, their validation sets", "section 4.6, figure 9")

NOT_COVERED = {
    "figure 4": "an annotated FrameNet sentence, which shows how the data look and holds no result",
    "table 1": "GLUE scores of models fine-tuned from pre-trained and from random weights; headscope trains no models",
}

HETEROGENEOUS_RANGE = (0.32, 0.61)
HETEROGENEOUS = Figure(None, *HETEROGENEOUS_RANGE, "MRPC lowest, QQP highest", words="32 to 61 %")
MACRO_F1 = 0.86
ROLE_HEADS = (0.209, 0.201)
"""The strongest attention between predicate and role, mean over sentences, of the two heads that stand out."""
LAST = 2
"""How many of the last layers change most by fine-tuning, in all tasks but QQP."""

BEST_HEAD = Figure(None, 0.001, 0.012, "STS-B least, MRPC most", words="+0.1 to +1.2 points")
"""What the best head to disable gains, by task."""
MEAN_HEAD = Figure(None, detail="MRPC, RTE", words="a gain")
SOME_HEADS = Figure(None, words="some, in all tasks")
FIRST_LAYER = Figure(0.032, detail="RTE")
BEST_LAYER = Figure(None, detail="QNLI, MNLI: a loss of up to 0.2 points", words="a gain")
