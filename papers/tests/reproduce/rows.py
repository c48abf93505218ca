"""Reading and drawing what a paper's function returns."""

from matplotlib import pyplot

from headscope_papers.reproduce import Figure, Reproduction, Row


def verdict_of(row: Row) -> str:
    assert row.verdict is not None
    return row.verdict.agreement


def ours_of(row: Row) -> Figure:
    assert row.ours is not None
    return row.ours


def rows_of(result: Reproduction, key: str) -> dict[str, Row]:
    return {row.quantity: row for row in result.section(key).rows}


def draw_all(result: Reproduction) -> dict[str, int]:
    """How many drawings each section has, each of them drawn."""
    for section in result.sections:
        for drawing in section.drawings:
            canvas = pyplot.figure(figsize=drawing.size, layout="constrained")
            ax = canvas.subplots()
            drawing.draw(ax)
            canvas.draw_without_rendering()
            assert ax.has_data() or ax.texts, drawing.title
            pyplot.close(canvas)
    return {section.key: len(section.drawings) for section in result.sections}
