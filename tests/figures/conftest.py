import matplotlib as mpl
import pytest
from matplotlib import pyplot


@pytest.fixture(autouse=True)
def no_screen():
    mpl.use("Agg")
    yield
    pyplot.close("all")
