"""Kinds of heads: known ones are found again, named by what they are, and doubts are said aloud."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_samples
from tests.helpers.atlases import FEATURES, atlas_of, per_head, random_atlas
from tests.helpers.kinds import EVEN, centre, kinds_atlas, kinds_of_heads

from headscope.atlas import Atlas
from headscope.errors import AtlasError, HeadscopeWarning, OptionError
from headscope.kinds import stability
from headscope.kinds.clusters import Separation, cluster, separation, silhouette
from headscope.kinds.features import head_features
from headscope.kinds.kind_names import description, group_shares, name_kinds
from headscope.kinds.kinds import HeadKinds, head_types
from headscope.types import LabelledArray


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stability has tests of its own; here it only takes time."""
    monkeypatch.setattr(stability, "ROUNDS", 1)


def sorted_quietly(atlas: Atlas, **options: Any) -> HeadKinds:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HeadscopeWarning)
        return head_types(atlas, **options)


@pytest.mark.parametrize("method", ["kmeans", "gmm"])
def test_known_kinds_are_found_and_named(method: Any) -> None:
    kinds = sorted_quietly(kinds_atlas(), method=method)
    assert (kinds.head_type == kinds_of_heads(6, 8)).all()
    assert kinds.shares == dict.fromkeys(kinds.names, 0.25)
    assert kinds.separation.is_clear
    assert kinds.recommended_k == 4
    assert (kinds.by_layer == 2).all()
    assert not kinds.notes


def test_the_same_atlas_and_seed_give_the_same_kinds() -> None:
    first, second = (sorted_quietly(random_atlas(6, 8), seed=3) for _ in range(2))
    assert (first.head_type == second.head_type).all()
    assert first.facts() == second.facts()


def test_the_clusters_are_those_of_scikit_learn() -> None:
    values = head_features(random_atlas(6, 8)).values
    own = cluster(values, k=3, seed=5)
    theirs = KMeans(3, n_init=20, random_state=5).fit(values)
    for number in range(3):
        assert len(set(theirs.labels_[own.labels == number])) == 1
        np.testing.assert_allclose(own.centres[number], values[own.labels == number].mean(0), atol=1e-9)
    assert silhouette(values, own.labels) == pytest.approx(silhouette_samples(values, own.labels).mean())


def test_certainty_is_the_margin_or_the_probability() -> None:
    values = head_features(kinds_atlas()).values
    found = cluster(values, k=4)
    gaps = np.sort(np.linalg.norm(values[:, None] - found.centres[None], axis=-1), axis=1)
    np.testing.assert_allclose(found.certainty, 1 - gaps[:, 0] / gaps[:, 1], atol=1e-9)
    mixed = cluster(values, k=4, method="gmm").certainty
    assert ((mixed > 0.25) & (mixed <= 1 + 1e-9)).all()


def test_one_cloud_is_called_one() -> None:
    random = np.random.default_rng(1)
    values = np.abs(1 / 21 + random.normal(size=(8, 8, 21)) * 0.003)
    arrays = per_head("distance_features", values / values.sum(-1, keepdims=True), {"feature": FEATURES})
    arrays["distance_features_uniform"] = LabelledArray(EVEN, ("feature",), {"feature": FEATURES}, "even")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        kinds = head_types(atlas_of(arrays))
    assert any("not well separated" in str(one.message) for one in told)
    assert not kinds.separation.is_clear
    assert any("nor would any other number" in note for note in kinds.notes)
    assert kinds.facts()["well_separated"] is False
    assert kinds.by_texts is None


def test_kinds_are_printed_with_their_sizes() -> None:
    kinds = head_types(kinds_atlas(), k=4)
    counts = [(kinds.head_type == name).sum() for name in kinds.names]
    listed = ", ".join(f"{count} {name}" for count, name in zip(counts, kinds.names, strict=True))
    assert repr(kinds) == f"<HeadKinds of {kinds.head_type.size} heads: {listed}>"


def test_another_number_of_kinds_gets_the_recommendation() -> None:
    with pytest.warns(HeadscopeWarning, match="k = 4 is recommended"):
        assert head_types(kinds_atlas(), k=3).recommended_k == 4


@pytest.mark.parametrize("name", ["dense", "diagonal", "dense&vertical", "vertical"])
def test_a_published_name_where_it_fits(name: str) -> None:
    assert name_kinds(centre(name)[None], FEATURES, EVEN) == [name]


def test_two_centres_never_share_a_name() -> None:
    near, itself = np.zeros(21), np.zeros(21)
    near[FEATURES.index("w00")], near[FEATURES.index("w01")] = 0.8, 0.2
    itself[FEATURES.index("self")], itself[FEATURES.index("w05")] = 0.7, 0.3
    assert name_kinds(np.stack([near, itself]), FEATURES, EVEN) == ["near", "self+far"]
    assert name_kinds(np.stack([near, near, itself]), FEATURES, EVEN) == ["near (1)", "near (2)", "self+far"]


def test_a_centre_that_fits_no_published_kind_is_described() -> None:
    mixed = np.zeros(21)
    mixed[FEATURES.index("w00")], mixed[FEATURES.index("w02")], mixed[FEATURES.index("sep")] = 0.45, 0.4, 0.15
    assert name_kinds(mixed[None], FEATURES, EVEN) == [description(mixed, FEATURES)] == ["near+middle"]
    assert group_shares(mixed, FEATURES) == pytest.approx(
        {"special": 0.15, "self": 0, "near": 0.45, "middle": 0.4, "far": 0}
    )


@pytest.mark.parametrize("k", [1, 48, 100])
def test_an_impossible_number_of_kinds_is_refused(k: int) -> None:
    with pytest.raises(OptionError, match=f"k is {k}"):
        head_types(kinds_atlas(), k=k)


def test_missing_features_are_named() -> None:
    with pytest.raises(AtlasError, match="distance_features"):
        head_types(atlas_of(per_head("entropy", np.ones((2, 2)))))


def test_the_atlas_keeps_the_kinds_until_it_is_measured_anew(tmp_path: Any) -> None:
    atlas = kinds_atlas()
    kinds = sorted_quietly(atlas)
    sorted_once = kinds.to_atlas(atlas)
    sorted_once.save(tmp_path / "kinds.nc")
    opened = Atlas(sorted_once.tree)
    assert (opened["head_type"].values == kinds.head_type).all()
    assert opened["head_type"].dims == ("layer", "head")
    assert opened["head_type_changed"].sel(half="texts").max() == 0
    assert [row["type"] for row in opened.table("types")] == list(kinds.names)
    again = sorted_quietly(atlas, k=2).to_atlas(sorted_once)
    assert len(set(again["head_type"].values.reshape(-1))) == 2
    assert "head_type" not in atlas.with_probes_of(sorted_once)


def test_what_an_even_head_has_too_makes_no_name() -> None:
    short = np.zeros(21)
    short[FEATURES.index("sep")], short[FEATURES.index("w05")] = 0.3, 0.7  # texts full of special tokens
    head = np.zeros(21)
    head[FEATURES.index("sep")], head[FEATURES.index("w05")], head[FEATURES.index("w00")] = 0.35, 0.6, 0.05
    assert name_kinds(head[None], FEATURES, EVEN) == ["dense&vertical"]
    even = short * 0.9 + EVEN * 0.1
    even[FEATURES.index("w00")] = 0.05
    assert name_kinds(head[None], FEATURES, even) == ["dense"]


def test_short_texts_get_no_published_name() -> None:
    short = EVEN.copy()
    short[FEATURES.index("w00")] = 0.0
    assert name_kinds(centre("diagonal")[None], FEATURES, short) == ["near+self"]
    arrays = per_head("distance_features", kinds_atlas()["distance_features"].values, {"feature": FEATURES})
    arrays["distance_features_uniform"] = LabelledArray(short, ("feature",), {"feature": FEATURES}, "even")
    assert any("too short" in note for note in sorted_quietly(atlas_of(arrays)).notes)


def test_heads_that_are_all_alike_have_no_kinds() -> None:
    arrays = per_head("distance_features", np.full((4, 4, 21), 1 / 21), {"feature": FEATURES})
    arrays["distance_features_uniform"] = LabelledArray(EVEN, ("feature",), {"feature": FEATURES}, "even")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn tells of fewer clusters than asked for
        with pytest.raises(AtlasError, match="look alike"):
            head_types(atlas_of(arrays))


def test_unstable_kinds_are_called_so() -> None:
    kinds = sorted_quietly(random_atlas(6, 8))
    assert any("these kinds are not stable: on half of the heads" in note for note in kinds.notes)
    assert kinds.facts()["stable"] == {"heads": False, "texts": None}


@pytest.mark.slow
def test_kinds_of_another_stack_stay() -> None:
    atlas = random_atlas(4, 6, stacks=("encoder", "decoder"))
    both = sorted_quietly(atlas, stack="decoder").to_atlas(sorted_quietly(atlas, k=3).to_atlas(atlas))
    for stack, k in (("encoder", 3), ("decoder", 4)):
        assert len(set(both[f"{stack}/head_type"].values.reshape(-1))) == k
        assert len(both.table("types", stack=stack)) == k
        assert both.provenance["probes"]["types"]["stacks"][stack]["k"] == k


def test_what_makes_kinds_well_separated() -> None:
    assert Separation(silhouette=0.5, p_value=0.01, difference=0.5).is_clear
    faint = Separation(silhouette=0.2, p_value=0.01, difference=0.5)
    assert faint.reasons == ["silhouette 0.20 is below 0.25"]
    assert not Separation(silhouette=float("nan"), p_value=0.01, difference=0.5).is_clear
    assert len(Separation(silhouette=0.5, p_value=0.4, difference=0.01).reasons) == 2


@pytest.mark.parametrize("seed", range(3))
def test_the_numbers_of_clusters_are_those_of_their_centres(seed: int) -> None:
    values = np.random.default_rng(seed).dirichlet(np.ones(5), 60)
    found = cluster(values, k=6, seed=seed, starts=3)
    assert found.predict(found.centres).tolist() == [0, 1, 2, 3, 4, 5]
    assert (np.diff(found.centres[:, 0]) >= 0).all()


def test_heads_of_one_cloud_of_shares_are_not_separated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares that add up to 1 lie in corners, where no normal cloud lies; one that is normal in logarithms does."""
    monkeypatch.setattr("headscope.kinds.clusters.NULL_STARTS", 2)
    logarithms = np.random.default_rng(0).normal(size=(48, 4)) * 6
    values = np.exp(logarithms) / np.exp(logarithms).sum(1, keepdims=True)
    assert separation(values, cluster(values, k=3)).p_value > 0.05
