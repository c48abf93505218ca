import matplotlib as mpl
import pytest


@pytest.fixture(autouse=True)
def no_screen():
    mpl.use("Agg")
