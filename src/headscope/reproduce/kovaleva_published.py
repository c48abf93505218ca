"""What Kovaleva et al. 2019 published in words and numbers.

Most of its figures are pictures. What can be read off them only is not here: the share of each pattern by task (but for
the heterogeneous one, whose ends the text gives), cosines by layer, and scores with single heads disabled.
"""

from headscope.reproduce.table import Figure, Origin

CITATION = "Kovaleva, Romanov, Rogers and Rumshisky 2019: Revealing the Dark Secrets of BERT. EMNLP-IJCNLP"
MODEL = "bert-base, 12 layers x 12 heads"
SHAPE = (12, 12)

PATTERNS = Origin(f"{MODEL}, fine-tuned", "seven GLUE tasks, up to 1,000 examples of each")
CLASSIFIER = Origin("a network of 8 convolutional layers", "about 400 maps annotated by hand")
ROLES = Origin(f"{MODEL}, pre-trained", "FrameNet, 473 sentences of at most 12 tokens")
CHANGE = Origin(f"{MODEL}, pre-trained and fine-tuned", "seven GLUE tasks, up to 1,000 examples of each")
FEATURES = Origin(f"{MODEL}, pre-trained and fine-tuned", "GLUE tasks")
DISABLING = Origin(f"{MODEL}, fine-tuned", "seven GLUE tasks, their validation sets")

HETEROGENEOUS = Figure(None, 0.32, 0.61, "MRPC lowest, QQP highest", words="32 to 61 %")
MACRO_F1 = 0.86
ROLE_HEADS = (0.209, 0.201)
"""The strongest attention between predicate and role, mean over sentences, of the two heads that stand out."""
LAST = 2
"""How many of the last layers change most by fine-tuning, in all tasks but QQP."""

BEST_HEAD = Figure(None, 0.001, 0.012, "STS-B least, MRPC most", words="+0.1 to +1.2 points")
"""What the best head to disable gains, by task."""
MEAN_HEAD = Figure(None, detail="MRPC, RTE", words="a gain")
FIRST_LAYER = Figure(0.032, detail="RTE")
