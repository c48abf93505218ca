"""The public names, and where they are: read by type checkers, and by `__init__.py` at run time."""

from headscope_papers.parser.probe import ParserProbe as ParserProbe
from headscope_papers.parser.table import parser_table as parser_table
from headscope_papers.reproduce import Drawing as Drawing
from headscope_papers.reproduce import Figure as Figure
from headscope_papers.reproduce import Grid as Grid
from headscope_papers.reproduce import Material as Material
from headscope_papers.reproduce import Origin as Origin
from headscope_papers.reproduce import Reproduction as Reproduction
from headscope_papers.reproduce import Row as Row
from headscope_papers.reproduce import Section as Section
from headscope_papers.reproduce import Verdict as Verdict
from headscope_papers.reproduce import clark2019 as clark2019
from headscope_papers.reproduce import guan2020 as guan2020
from headscope_papers.reproduce import kobayashi2020 as kobayashi2020
from headscope_papers.reproduce import kovaleva2019 as kovaleva2019
from headscope_papers.reproduce import reproduce_all as reproduce_all
from headscope_papers.reproduce import vig2019 as vig2019
from headscope_papers.reproduce import write_page as write_page
