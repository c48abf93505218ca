"""Atlases from and to the hub, against a stand-in of its client that keeps repositories in folders."""

import shutil
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub.errors import EntryNotFoundError
from tests.contract.shards import TEXTS, arrays_of
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.errors import AtlasError, OptionError, OutputError


class Hub:
    """The few calls that are made, with the names and arguments of huggingface_hub."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made: list[tuple[str, str, bool | None]] = []

    def create_repo(self, repo_id: str, *, repo_type: str, private: bool | None, exist_ok: bool) -> None:
        assert exist_ok
        self.made.append((repo_id, repo_type, private))
        (self.folder / repo_type / repo_id).mkdir(parents=True, exist_ok=True)

    def upload_file(
        self, *, path_or_fileobj: Any, path_in_repo: str, repo_id: str, repo_type: str, commit_message: str
    ) -> None:
        target = self.folder / repo_type / repo_id / path_in_repo
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(path_or_fileobj, bytes):
            target.write_bytes(path_or_fileobj)
        else:
            shutil.copy(path_or_fileobj, target)

    def file_exists(self, repo_id: str, filename: str, *, repo_type: str) -> bool:
        return (self.folder / repo_type / repo_id / filename).exists()

    def hf_hub_download(
        self, repo_id: str, filename: str, *, repo_type: str, revision: str | None = None
    ) -> str:
        path = self.folder / repo_type / repo_id / (revision or "") / filename
        if not path.exists():
            raise EntryNotFoundError(f"404: {filename} is not in {repo_id}\nmore lines")
        return str(path)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    hub = Hub(tmp_path / "hub")
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: hub)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", hub.hf_hub_download)
    return hub


@pytest.fixture(scope="module")
def atlas() -> hs.Atlas:
    atlas = hs.analyze(tiny("bert"), TEXTS[:6], max_length=24, measures=["entropy"])
    treebank = hs.read_treebank(hs.sample_path("treebank"))
    return hs.DependencyProbe(tiny("bert"), limit=30).fit_score(treebank).to_atlas(atlas)


def test_what_is_pushed_can_be_opened(hub: Hub, atlas: hs.Atlas) -> None:
    address = atlas.push_to_hub("me/heads", private=True)
    assert address == "hf://me/heads/atlas.nc"
    assert hub.made == [("me/heads", "dataset", True)]
    opened = hs.open(address)
    expected = arrays_of(atlas)
    assert {name: values.tobytes() for name, values in arrays_of(opened).items()} == {
        name: values.tobytes() for name, values in expected.items()
    }
    assert opened.probes.keys() == atlas.probes.keys()
    assert opened.provenance["weights_hash"] == atlas.provenance["weights_hash"]


def test_sentences_stay_at_home_unless_asked_for(hub: Hub, atlas: hs.Atlas) -> None:
    words = "the cat saw"
    address = atlas.push_to_hub("me/heads")
    file = hub.folder / "dataset" / "me/heads" / "atlas.nc"
    quoted = [*atlas.examples("dependency"), *atlas.typical("0.0")]
    assert quoted
    opened = hs.open(address)
    assert not opened.examples("dependency")
    assert not opened.typical("0.0")
    assert b"saw" not in file.read_bytes()
    assert "| sentences of the texts | left out |" in (file.parent / "README.md").read_text()
    atlas.push_to_hub("me/heads", name="told.nc", sentences=True)
    told = hs.open("hf://me/heads/told.nc")
    assert told.typical("0.0") == atlas.typical("0.0")
    assert words in " ".join(told.typical("0.0")[0].words)
    assert "| quoted |" in (file.parent / "README.md").read_text()


def test_the_card_says_what_it_is_and_leaves_others_alone(hub: Hub, atlas: hs.Atlas) -> None:
    atlas.push_to_hub("me/heads")
    folder = hub.folder / "dataset" / "me/heads"
    card = (folder / "README.md").read_text()
    for words in (
        "tiny-bert",
        "entropy",
        "dependency",
        'hs.open("hf://me/heads/atlas.nc")',
        "3 layers x 4 heads",
    ):
        assert words in card
    (folder / "README.md").write_text("# Mine")
    atlas.push_to_hub("me/heads")
    assert (folder / "README.md").read_text() == "# Mine"
    assert (folder / "ATLAS.md").read_text() == card


def test_other_places_on_the_hub(hub: Hub, atlas: hs.Atlas) -> None:
    for place in ("model/me/bert/maps", "dataset/me/heads/v2"):
        (hub.folder / place).mkdir(parents=True)
        atlas.save(hub.folder / place / "a.nc")
    assert hs.open("hf://models/me/bert/maps/a.nc").measures == atlas.measures
    assert hs.open("hf://me/heads@v2/a.nc").measures == atlas.measures
    assert hs.open(Path("hf://me/heads@v2/a.nc")).measures == atlas.measures  # as the command line has it


@pytest.mark.parametrize(
    "address", ["hf://me/atlas.nc", "hf://me/heads/readme.md", "hf://", "hf://me/he ads/a.nc"]
)
def test_what_is_no_address_is_refused(hub: Hub, address: str) -> None:
    with pytest.raises(OptionError, match=r"is no address of an atlas; write hf://owner/name/atlas.nc"):
        hs.open(address)


def test_what_is_not_there_is_told_in_a_line(hub: Hub, atlas: hs.Atlas) -> None:
    with pytest.raises(
        AtlasError, match=r"hf://me/heads/no\.nc cannot be fetched .*404: no\.nc is not in me/heads\)"
    ):
        hs.open("hf://me/heads/no.nc")
    with pytest.raises(OptionError, match="make no address"):
        atlas.push_to_hub("heads")


def test_what_cannot_be_pushed_is_told(hub: Hub, atlas: hs.Atlas, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*words: object, **options: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr(Hub, "create_repo", refused)
    with pytest.raises(OutputError, match=r"hf://me/heads/atlas.nc cannot be written .*no network"):
        atlas.push_to_hub("me/heads")
