"""What was left out: the count is complete, the places are the first few."""

from headscope.text.skipped import SHOWN, Skipped


def test_nothing_left_out_needs_no_note() -> None:
    assert Skipped("sentences").note() is None


def test_one_is_singular_and_named() -> None:
    skipped = Skipped("sentences")
    skipped.add("a.conllu:3: no tree")
    assert skipped.note() == "1 sentence skipped: a.conllu:3: no tree"


def test_two_are_plural() -> None:
    skipped = Skipped("cases")
    skipped.add("a:1: x")
    skipped.add("a:2: y")
    assert skipped.note() == "2 cases skipped: a:1: x; a:2: y"


def test_many_are_counted_and_the_first_few_named() -> None:
    skipped = Skipped("sentences")
    for number in range(1234):
        skipped.add(f"a:{number}: x")
    places = "; ".join(f"a:{number}: x" for number in range(SHOWN))
    assert skipped.note() == f"1,234 sentences skipped: {places}; ..."
    assert len(skipped.places) == SHOWN  # memory does not grow with the file


def test_just_as_many_as_are_shown_are_all_named() -> None:
    skipped = Skipped("sentences")
    for number in range(SHOWN):
        skipped.add(str(number))
    assert skipped.note() == "5 sentences skipped: 0; 1; 2; 3; 4"


def test_several_at_one_place() -> None:
    skipped = Skipped("words")
    skipped.add("a:1: all of them", count=12)
    assert skipped.count == 12
    assert skipped.places == ["a:1: all of them"]


def test_parts_merge() -> None:
    parts = [Skipped("cases") for _ in range(3)]
    for number in range(4):
        parts[0].add(f"first {number}")
        parts[2].add(f"last {number}", count=2)
    whole = Skipped("cases")
    for part in parts:
        whole.merge(part)
    assert whole.count == 12
    assert whole.places == ["first 0", "first 1", "first 2", "first 3", "last 0"]
    assert parts[0].places == ["first 0", "first 1", "first 2", "first 3"]  # a part is not changed
