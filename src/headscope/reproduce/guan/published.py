"""What Guan et al. 2020 published: BERT-large, EM and F1 on SQuAD's development set."""

from headscope.edits import How

CITATION = (
    "Guan, Leng, Li, Chen and Guo 2020: How Far Does BERT Look At: Distance-based Clustering and Analysis of BERT's "
    "Attention. COLING"
)
MODEL = "BERT-large, 24 layers x 16 heads"
SHAPE = (24, 16)
KINDS = 4
TABLES_AND_FIGURES = ("figure 1", "figure 2", "figure 3", "figure 4", "table 1", "table 2", "table 3")
"""Figure 3 is the box plots; that the map is figure 2 and the layers figure 4 follows the order of the text."""

STABILITY = {
    "pre-trained": 0.9598,
    "SQuAD": 0.9626,
    "MRPC": 0.9598,
    "MNLI": 0.9437,
}

Score = tuple[float, float]
"""Exact match and F1."""

BASELINE = 0.8968
"""F1 of the untouched model; its exact match is not published."""

TABLE_2: dict[How, dict[tuple[str, ...], Score]] = {
    "zero": {
        ("dense",): (0.7992, 0.8762),
        ("diagonal",): (0.0459, 0.0755),
        ("dense&vertical",): (0.7333, 0.8192),
        ("vertical",): (0.8142, 0.8857),
        ("dense", "vertical"): (0.7531, 0.8405),
        ("dense&vertical", "vertical"): (0.5687, 0.6762),
    },
    "uniform": {
        ("dense",): (0.7468, 0.8417),
        ("diagonal",): (0.0127, 0.0607),
        ("dense&vertical",): (0.0913, 0.1115),
        ("vertical",): (0.5317, 0.5909),
    },
}
"""By what was done to the heads of one or two kinds."""

TABLE_3: dict[int, tuple[str, bool, How, Score]] = {
    12: ("diagonal", False, "intra", (0.1696, 0.2529)),
    13: ("diagonal", False, "inter", (0.8229, 0.8991)),
    14: ("dense&vertical", False, "intra", (0.8028, 0.8776)),
    15: ("dense&vertical", False, "inter", (0.7795, 0.8586)),
    16: ("diagonal", True, "intra", (0.7180, 0.8022)),
    17: ("diagonal", True, "inter", (0.1011, 0.1557)),
    18: ("dense&vertical", True, "intra", (0.1483, 0.2355)),
    19: ("dense&vertical", True, "inter", (0.7554, 0.8410)),
}
"""By the table's number of a row: the kind, whether it is all kinds but this one that are masked, the mask, scores."""

ROW_12 = "Row 12 has exact match 16.96 in the paper's table and 19.96 in its text; the table's is shown."
