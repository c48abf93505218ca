"""Naming heads."""

from typing import Any

import numpy as np
import pytest
from tests.helpers.atlases import per_head, provenance, random_atlas

from headscope.atlas import Atlas
from headscope.edits import HeadSet, select_heads
from headscope.errors import OptionError
from headscope.trace.architecture import Stacks
from headscope.types import HeadGrid, HeadId, LabelledArray

GRID = HeadGrid("encoder", 3, 4, causal=False)
BOTH = Stacks(
    (GRID, HeadGrid("decoder", 2, 4, causal=True), HeadGrid("cross", 2, 2, causal=False)),
    (),
)

ENTROPY = np.array([[5, 1, 9, 2], [7, 3, 8, 4], [0, np.nan, 6, 10]], dtype=float)
KINDS = np.array([["dense", "dense", "vertical", "near & far"]] * 3, dtype=object)
SHARES = np.array([[[0.2, 0.8], [0.6, 0.4], [0.5, 0.5], [0.9, 0.1]]] * 3)
SHARES[2, 1] = np.nan


def atlas() -> Atlas:
    arrays = per_head("entropy", np.stack([ENTROPY, -ENTROPY], -1), {"query_role": ("all", "cls")})
    arrays |= per_head("agreement", ENTROPY)
    roles = np.arange(3 * 4 * 2 * 2, dtype=float).reshape(3, 4, 2, 2)
    arrays |= per_head("role_attention", roles, {"query_role": ("all", "sep"), "role": ("cls", "sep")})
    arrays |= per_head("pattern_share", SHARES, {"pattern": ("diagonal", "vertical")})
    grid = {"layer": range(3), "head": range(4)}
    arrays["head_type"] = LabelledArray(KINDS, ("layer", "head"), grid, "kind")
    arrays["total"] = LabelledArray(np.float64(1), (), {}, "total")  # type: ignore[arg-type]
    return Atlas.build({"encoder": arrays}, provenance=provenance())


def names(heads: Any, **options: Any) -> str:
    return str(select_heads(GRID, heads, **options))


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        ("1.2", "1.2"),
        (" 2.3 ,0.1,0 . 0", "0.0, 0.1, 2.3"),
        ("1.2, 1.2", "1.2"),
        ("1.*", "1.0, 1.1, 1.2, 1.3"),
        ("layer 1", "1.0, 1.1, 1.2, 1.3"),
        ("Layers 0-1", "0.0, 0.1, 0.2, 0.3, 1.0, 1.1, 1.2, 1.3"),
        ("all but layers 0-1, 2.3", "2.0, 2.1, 2.2"),
        ("all but 0.*, encoder:1.*", "2.0, 2.1, 2.2, 2.3"),
        ("encoder 1.1", "1.1"),
        (HeadId(1, 2), "1.2"),
        ((1, 2), "1.2"),
        (("encoder", 1, 2), "1.2"),
        ([(1, 2), "0.*", HeadId(2, 0)], "0.0, 0.1, 0.2, 0.3, 1.2, 2.0"),
        (HeadSet.of([("encoder", HeadId(1, 1))]), "1.1"),
    ],
)
def test_heads_by_number(heads: Any, expected: str) -> None:
    assert names(heads) == expected


def test_all_heads_and_whole_layers() -> None:
    assert len(select_heads(GRID, "all")) == 12
    assert names(None, layers=1) == names("1.*")
    assert names("0.0", layers=[1, 2]) == names("0.0, layers 1-2")


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        ("encoder 1.1, decoder:1.0,cross 0.1", "encoder 1.1, decoder 1.0, cross 0.1"),
        ("cross layer 1", "1.0, 1.1"),
        ("all but encoder all, decoder all, cross 0.*", "1.0, 1.1"),
        ([("decoder", 1, 3)], "1.3"),
    ],
)
def test_heads_of_several_stacks(heads: Any, expected: str) -> None:
    assert str(select_heads(BOTH, heads)) == expected


def test_layers_of_several_stacks_are_those_that_have_them() -> None:
    assert {stack for stack, _ in select_heads(BOTH, layers=2)} == {"encoder"}
    assert len(select_heads(BOTH, layers=1)) == 10
    assert len(select_heads(BOTH, "all")) == 24


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        ("type:vertical", "0.2, 1.2, 2.2"),
        ("type: near & far", "0.3, 1.3, 2.3"),
        ("all but type:dense", "0.2, 0.3, 1.2, 1.3, 2.2, 2.3"),
        ("pattern:vertical", "0.0, 1.0, 2.0"),
        ("pattern:diagonal", "0.1, 0.2, 0.3, 1.1, 1.2, 1.3, 2.2, 2.3"),
        ("top 3 by entropy", "0.2, 1.2, 2.3"),
        ("top 3 by entropy/all", "0.2, 1.2, 2.3"),
        ("bottom 2 by agreement", "0.1, 2.0"),
        ("top 2 by entropy/cls", "0.1, 2.0"),
        ("top 1 by role_attention/sep", "2.3"),
        ("encoder: top 1 by role_attention/sep/cls, 0.0", "0.0, 2.3"),
        ("bottom 2 by role_attention/all/cls", "0.0, 0.1"),
    ],
)
def test_heads_by_what_the_atlas_says(heads: str, expected: str) -> None:
    assert names(heads, atlas=atlas()) == expected


def test_heads_of_a_stack_of_an_atlas() -> None:
    several = random_atlas(3, 4, stacks=("encoder", "decoder", "cross"))
    grids = Stacks(tuple(HeadGrid(name, 3, 4, causal=False) for name in ("encoder", "decoder", "cross")), ())
    found = select_heads(grids, "decoder top 1 by entropy", atlas=several)
    values = several["decoder/entropy"].sel(query_role="all").values
    assert str(found) == ".".join(map(str, np.unravel_index(values.argmax(), values.shape)))


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ("3.0", "no head 3.0 in the encoder: layers go from 0 to 2, heads from 0 to 3"),
        ("0.4", "no head 0.4"),
        ((0, -1), "no head 0.-1"),
        ("layer 3", "no head 3.0"),
        ("layers 2-1", "runs backwards"),
        ("decoder 1.1", "no 'decoder'; it has encoder"),
        ("1", "does not name heads"),
        ("all but", "does not name heads"),
        ("all but all", "names no heads"),
        ("1.1,,1.2", "empty place"),
        ("", "empty place"),
        ([], "names no heads"),
        (3, "3 is not a head"),
        ([3], "3 is not a head"),
        (None, "no heads were named"),
        ("type:vertical", "needs an atlas"),
        ("top 1 by entropy", "needs an atlas"),
    ],
)
def test_what_names_no_heads_is_refused(heads: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        select_heads(GRID, heads)


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ("type:vertcal", r"no type 'vertcal'; did you mean vertical\?"),
        ("pattern:block", "no pattern 'block'; choose from diagonal, vertical"),
        ("top 1 by entropi", r"did you mean entropy\?"),
        ("top 12 by entropy", "11 heads have a value"),
        ("top 0 by entropy", "ask for 1 to 11"),
        ("top 1 by role_attention", "several numbers a head.*role: cls, sep"),
        ("top 1 by role_attention/comma", "has no 'comma'"),
        ("top 1 by agreement/all", "it takes no label"),
        ("top 1 by head_type", "is no number"),
        ("top 1 by total", "not a number per head"),
    ],
)
def test_what_the_atlas_does_not_say_is_refused(heads: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        names(heads, atlas=atlas())


def test_an_atlas_without_kinds_says_how_to_get_them() -> None:
    for heads in ("type:dense", "pattern:vertical"):
        with pytest.raises(OptionError, match="the atlas has no"):
            names(heads, atlas=random_atlas(3, 4))


def test_an_atlas_of_another_model_is_refused() -> None:
    with pytest.raises(OptionError, match="of another model"):
        names("top 1 by entropy", atlas=random_atlas(2, 4))
    with pytest.raises(OptionError, match="atlas has no encoder"):
        names("top 1 by entropy", atlas=random_atlas(3, 4, stacks=("decoder",)))


def test_a_stack_must_be_named_where_there_are_several() -> None:
    for heads in ("1.1", HeadId(1, 1), (1, 1), "layer 1"):
        with pytest.raises(OptionError, match="write such as 'encoder "):
            select_heads(BOTH, heads)
    with pytest.raises(OptionError, match="no layer 3: layers go from 0 to 2"):
        select_heads(BOTH, layers=3)


def test_sets_of_heads() -> None:
    some, other = select_heads(GRID, "1.1, 1.2"), select_heads(GRID, "1.2, 2.0")
    assert (str(some | other), str(some - other)) == ("1.1, 1.2, 2.0", "1.1")
    assert ("encoder", HeadId(1, 1)) in some
    assert {(place.stack, place.layer): heads for place, heads in (some | other).by_place.items()} == {
        ("encoder", 1): (1, 2),
        ("encoder", 2): (0,),
    }
