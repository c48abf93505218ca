"""Published figures with ours beside them, each saying which model and data it comes from."""

from headscope_papers.reproduce.clark2019 import clark2019
from headscope_papers.reproduce.everything import reproduce_all
from headscope_papers.reproduce.guan2020 import guan2020
from headscope_papers.reproduce.kobayashi2020 import kobayashi2020
from headscope_papers.reproduce.kovaleva2019 import kovaleva2019
from headscope_papers.reproduce.page import write_page
from headscope_papers.reproduce.study import Material
from headscope_papers.reproduce.table import (
    Drawing,
    Figure,
    Grid,
    Origin,
    Reproduction,
    Row,
    Section,
    Verdict,
)
from headscope_papers.reproduce.vig2019 import vig2019

__all__ = [
    "Drawing",
    "Figure",
    "Grid",
    "Material",
    "Origin",
    "Reproduction",
    "Row",
    "Section",
    "Verdict",
    "clark2019",
    "guan2020",
    "kobayashi2020",
    "kovaleva2019",
    "reproduce_all",
    "vig2019",
    "write_page",
]
