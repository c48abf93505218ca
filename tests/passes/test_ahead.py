"""Reading ahead: the same things in the same order, and a thread that ends when nobody wants more."""

import signal
import threading
import time
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import pytest
from tests.helpers.tiny import tiny
from tests.seams import layers_of

import headscope as hs
from headscope.errors import TextError
from headscope.passes.read_ahead import ahead


def reading() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "headscope reads ahead"]


@pytest.mark.parametrize("room", [1, 2, 16])
def test_things_come_in_order_made_in_another_thread(room: int) -> None:
    makers = set()

    def things() -> Iterator[int]:
        for number in range(50):
            makers.add(threading.current_thread())
            yield number

    assert list(ahead(things(), room=room)) == list(range(50))
    assert makers
    assert threading.main_thread() not in makers
    assert not reading()


def test_it_is_never_further_ahead_than_there_is_room() -> None:
    made = []

    def things() -> Iterator[int]:
        for number in range(20):
            made.append(number)
            yield number

    stream = ahead(things(), room=3)
    assert next(stream) == 0
    time.sleep(0.05)
    assert len(made) == 4  # the one that was taken, and three more
    assert list(stream) == list(range(1, 20))


def test_an_error_comes_in_its_place() -> None:
    def things() -> Iterator[int]:
        yield 1
        yield 2
        raise TextError("line 3 is no text")

    stream, got = ahead(things()), []
    with pytest.raises(TextError, match="line 3 is no text"):
        got.extend(stream)
    assert got == [1, 2]
    assert not reading()


def test_whoever_stops_early_ends_the_thread_and_closes_what_it_reads() -> None:
    closed = threading.Event()

    def things() -> Iterator[int]:
        try:
            yield from range(1000)
        finally:
            closed.set()

    stream = ahead(things(), room=2)
    assert next(stream) == 0
    stream.close()  # type: ignore[attr-defined]  # a generator
    assert closed.is_set()
    assert not reading()


def test_ctrl_c_ends_a_wait_for_a_text_that_never_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headscope.passes.read_ahead.LAST_WORDS", 0.05)
    never = threading.Event()

    def things() -> Iterator[int]:
        never.wait()
        yield 1

    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(KeyboardInterrupt):
            next(ahead(things()))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        never.set()


def test_a_run_that_fails_leaves_no_thread_behind() -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("the model broke")

    model = hs.wrap(deepcopy(tiny("bert").network), tiny("bert").tokenizer)
    layers_of(model, ["a dog"], weighting="value")
    model.network.embeddings.register_forward_pre_hook(fails)
    with pytest.raises(RuntimeError, match="the model broke"):
        hs.analyze(
            model, ["the cat sat."] * 300, max_length=16, batch_size=1, measures=["entropy"], kernels=False
        )
    assert not reading()


def test_a_bad_file_fails_a_run_as_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"text": "the cat sat."}\n' * 3 + "no json\n")
    with pytest.raises(TextError, match=r"bad\.jsonl:4: not JSON"):
        hs.analyze(tiny("bert"), hs.read_text(tmp_path / "bad.jsonl"), max_length=16, measures=["entropy"])
    # A run that stops before the bad line never meets it.
    atlas = hs.analyze(
        tiny("bert"), hs.read_text(tmp_path / "bad.jsonl"), max_length=16, measures=["entropy"], limit=2
    )
    assert atlas.provenance["texts"] == 2


def test_runs_agree_to_the_last_bit() -> None:
    texts = [f"the cat saw {number} dogs, and the red mat was on it." for number in range(90)]
    runs = [hs.analyze(tiny("bert"), texts, max_length=24, measures=["entropy"]) for _ in range(2)]
    assert runs[0]["entropy"].values.tobytes() == runs[1]["entropy"].values.tobytes()
    assert runs[0].provenance["corpus_hash"] == runs[1].provenance["corpus_hash"]
