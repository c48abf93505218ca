"""FrameNet's XML: words, core elements, what is left out, and files that must not be trusted."""

import gzip
from pathlib import Path

import pytest
from papers.tests.framenet import FULL_TEXT, LEXICAL_UNIT, NAMESPACE, write_framenet

from headscope.errors import TextError
from headscope.text.annotated.roles import Argument, Predicate, read_roles


def spelled(one: Predicate, words: tuple[int, ...] | range) -> str:
    return " ".join(one.content.words[word] for word in words)


def roles(one: Predicate) -> dict[str, str]:
    return {argument.label: spelled(one, argument.words) for argument in one.arguments}


def read_file(folder: Path, text: str, name: str = "a.xml") -> list[Predicate]:
    path = folder / "fulltext" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return list(read_roles(path))


def test_running_text(tmp_path: Path) -> None:
    corpus = read_roles(write_framenet(tmp_path) / "fulltext")
    give, pick = corpus
    assert give.content.text == "The cat gave the dog a red mat in the house ."
    assert give.predicate == (2,)
    assert give.arguments == (
        Argument("Donor", 0, 2, True),
        Argument("Recipient", 3, 5, True),
        Argument("Theme", 5, 8, True),
        Argument("Place", 8, 11, False),
    )
    assert (give.sense, give.name, give.document) == ("Giving", "501", 0)
    lines = FULL_TEXT.split("\n")
    assert 'ID="901"' in lines[give.line - 1]
    assert give.where() == f"{tmp_path / 'fulltext' / 'TEST__cats.xml'}:{give.line}"
    # A target in two parts; "up" stands right before the full stop, which is a word of its own.
    assert pick.predicate == (2, 4)
    assert roles(pick) == {"Recipient": "The dog", "Theme": "it"}
    assert (pick.sense, pick.name, pick.document) == ("Getting", "502", 0)
    # The frame of "dog" has only an element that contains the target: no pair, and nothing broken either.
    assert corpus.skipped.count == 0
    assert corpus.name == "fulltext"


def test_lexical_units_know_their_core_elements(tmp_path: Path) -> None:
    (see,) = read_roles(write_framenet(tmp_path, frames=False) / "lu" / "lu3.xml")
    assert spelled(see, see.predicate) == "saw"
    assert roles(see) == {"Perceiver": "the dog", "Phenomenon": "a cat", "Ground": "on the mat"}
    assert [argument.is_core for argument in see.arguments] == [True, True, False]
    assert see.sense == "Perception"


def test_core_is_unknown_without_frames(tmp_path: Path) -> None:
    for one in read_roles(write_framenet(tmp_path, frames=False) / "fulltext"):
        assert {argument.is_core for argument in one.arguments} == {None}


def test_core_unexpressed_is_core(tmp_path: Path) -> None:
    text = FULL_TEXT.replace('name="Donor"', 'name="Source"').replace("Giving", "Getting")
    write_framenet(tmp_path)
    first = read_file(tmp_path, text)[0]
    assert first.arguments[0] == Argument("Source", 0, 2, True)


def test_only_the_frames_own_elements_count(tmp_path: Path) -> None:
    write_framenet(tmp_path)
    path = tmp_path / "frame" / "Giving.xml"
    other = '<other><FE name="Place" coreType="Core"/></other></frame>'
    path.write_text(path.read_text().replace("</frame>", other))
    give = next(iter(read_roles(tmp_path / "fulltext")))
    assert give.arguments[-1] == Argument("Place", 8, 11, False)


def test_another_frame_in_a_lexical_units_file(tmp_path: Path) -> None:
    text = LEXICAL_UNIT.replace('<annotationSet status="MANUAL"', '<annotationSet frameName="Else"')
    (see,) = read_file(tmp_path, text)
    assert see.sense == "Else"
    assert [argument.is_core for argument in see.arguments] == [None] * 3


def test_frame_names_lead_nowhere_else(tmp_path: Path) -> None:
    write_framenet(tmp_path)
    (tmp_path / "secret.xml").write_text("<frame><FE name='Donor' coreType='Core'/></frame>")
    for name in ("../secret", "..", ".", "", str(tmp_path / "secret")):
        first = read_file(tmp_path, FULL_TEXT.replace('frameName="Giving"', f'frameName="{name}"'))[0]
        assert first.arguments[0].is_core is None


def test_several_files_and_documents(tmp_path: Path) -> None:
    write_framenet(tmp_path)
    found = list(read_roles(tmp_path / "lu" / "lu3.xml", tmp_path / "fulltext"))
    assert [one.document for one in found] == [0, 1, 1]
    text = FULL_TEXT.replace('docID="77" sentNo="2"', 'docID="78" sentNo="2"')
    assert [one.document for one in read_file(tmp_path, text)] == [0, 1]


def test_gzip_and_no_namespace(tmp_path: Path) -> None:
    text = LEXICAL_UNIT.replace(NAMESPACE, "")
    path = tmp_path / "lu3.xml.gz"
    path.write_bytes(gzip.compress(text.encode()))
    (see,) = read_roles(path)
    assert roles(see)["Phenomenon"] == "a cat"


def test_offsets_count_characters_not_bytes(tmp_path: Path) -> None:
    # é as one character, a no-break space, an ampersand as an entity that XML itself has.
    sentence = "Zoé\u00a0saw R&amp;D …"
    text = LEXICAL_UNIT.replace("the dog saw a cat on the mat", sentence)
    for before, after in (
        ('end="6" start="0"', 'end="2" start="0"'),
        ('end="10" start="8"', 'end="6" start="4"'),
        ('end="16" start="12"', 'end="10" start="8"'),
        ('end="27" start="18"', 'end="12" start="12"'),
    ):
        text = text.replace(before, after)
    (see,) = read_file(tmp_path, text)
    assert spelled(see, see.predicate) == "saw"
    assert roles(see) == {"Perceiver": "Zoé", "Phenomenon": "R & D", "Ground": "…"}


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ('end="19" start="13" name="Recipient"', 'end="99" start="13" name="Recipient"', "end '99'"),
        ('end="19" start="13" name="Recipient"', 'end="13" start="19" name="Recipient"', "start '19'"),
        ('end="19" start="13" name="Recipient"', 'end="19" start="-3" name="Recipient"', "start '-3'"),
        ('end="19" start="13" name="Recipient"', 'end="19" start="１３" name="Recipient"', "start '１３'"),
        ('end="19" start="13" name="Recipient"', 'end="19" name="Recipient"', "start missing"),
        ('end="19" start="13" name="Recipient"', 'name="Recipient"', "start missing, end missing"),
        ('end="19" start="13" name="Recipient"', 'end="19" start="13"', "without a name"),
        ('end="19" start="13" name="Recipient"', 'end="45" start="13" name="Recipient"', "0 to 44"),
    ],
)
def test_broken_labels_are_told(tmp_path: Path, before: str, after: str, reason: str) -> None:
    text = FULL_TEXT.replace(before, after, 1)
    assert text != FULL_TEXT
    path = tmp_path / "a.xml"
    path.write_text(text, encoding="utf-8")
    corpus = read_roles(path)
    give, pick = corpus
    assert list(roles(give)) == ["Donor", "Theme", "Place"]
    assert len(pick.arguments) == 2
    assert corpus.skipped.count == 1
    line = 1 + next(number for number, row in enumerate(text.split("\n")) if 'feID="12"' in row)
    assert corpus.skipped.places[0].startswith(f"{path}:{line}: ")
    assert reason in corpus.skipped.places[0]


def test_a_span_of_spaces_is_no_argument(tmp_path: Path) -> None:
    text = FULL_TEXT.replace('end="6" start="0" name="Donor"', 'end="7" start="7" name="Donor"')
    assert list(roles(read_file(tmp_path, text)[0])) == ["Recipient", "Theme", "Place"]


def test_only_part_of_a_word(tmp_path: Path) -> None:
    text = FULL_TEXT.replace('end="29" start="21" name="Theme"', 'end="24" start="24" name="Theme"')
    assert roles(read_file(tmp_path, text)[0])["Theme"] == "red"


def test_not_well_formed(tmp_path: Path) -> None:
    broken = FULL_TEXT.replace('<sentence corpID="1" docID="77" sentNo="2"', '<<sentence sentNo="2"')
    line = 1 + next(number for number, row in enumerate(broken.split("\n")) if "<<" in row)
    with pytest.raises(TextError, match=rf"a\.xml:{line}: not well-formed XML"):
        read_file(tmp_path, broken)
    with pytest.raises(TextError, match=r"a\.xml:\d+: not well-formed XML \(unclosed token"):
        read_file(tmp_path, FULL_TEXT[:2000])
    with pytest.raises(TextError, match=r"a\.xml:1: not well-formed XML"):
        read_file(tmp_path, "")


@pytest.mark.parametrize(
    "declared",
    [
        '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>',
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]>',
        '<!DOCTYPE x SYSTEM "http://localhost/x.dtd">',
        '<!DOCTYPE x [<!ATTLIST label start CDATA "0">]>',
        "<!DOCTYPE x>",
    ],
)
def test_no_document_types(tmp_path: Path, declared: str) -> None:
    text = FULL_TEXT.replace("<fullTextAnnotation", f"{declared}\n<fullTextAnnotation", 1)
    with pytest.raises(TextError, match=r"a\.xml:3: a DOCTYPE"):
        read_file(tmp_path, text)


def test_entities_in_a_frame_are_refused_too(tmp_path: Path) -> None:
    write_framenet(tmp_path)
    path = tmp_path / "frame" / "Giving.xml"
    path.write_text(path.read_text().replace("<frame", '<!DOCTYPE x [<!ENTITY a "b">]>\n<frame', 1))
    with pytest.raises(TextError, match=r"Giving\.xml:2: a DOCTYPE"):
        list(read_roles(tmp_path / "fulltext"))


@pytest.mark.parametrize("root", ["frame", "frameIndex", "html"])
def test_foreign_files(tmp_path: Path, root: str) -> None:
    with pytest.raises(TextError, match=rf"a\.xml:1: the root element is '{root}'; expected FrameNet's full"):
        read_file(tmp_path, f"<{root} {NAMESPACE}/>")
    with pytest.raises(TextError, match="the root element is 'urn:other lexUnit'"):
        read_file(tmp_path, '<lexUnit xmlns="urn:other"/>')


def test_folders(tmp_path: Path) -> None:
    with pytest.raises(TextError, match=r"holds no \.xml file"):
        read_roles(tmp_path)
    write_framenet(tmp_path)
    with pytest.raises(
        TextError, match=r"is a whole FrameNet; name the part to read, .*fulltext for example"
    ):
        read_roles(tmp_path)


def test_nothing_annotated(tmp_path: Path) -> None:
    with pytest.raises(TextError, match=r"a\.xml holds no predicate with arguments"):
        read_file(tmp_path, f"<lexUnit {NAMESPACE}><subCorpus/></lexUnit>")
    text = FULL_TEXT.replace('start="', 'start="99')
    with pytest.raises(TextError, match=r"a\.xml: none of its annotations can be used, 11 were skipped"):
        read_file(tmp_path, text)
