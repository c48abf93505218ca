import asyncio
import gc
import threading
import weakref
from typing import Any

import pytest
import torch
from tests.helpers.loops import run_apart
from tests.helpers.tiny import tiny

from headscope.errors import OptionError
from headscope.server.problems import StoppedError, TooBusyError
from headscope.server.worker import READER_WAITING, REQUESTS_WAITING, Job, Worker


async def never() -> None:
    await asyncio.Event().wait()


async def until(condition: Any) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.005)


def test_jobs_run_one_at_a_time_in_order_and_off_the_loop() -> None:
    order: list[int] = []
    running = threading.Semaphore(1)
    threads = set()

    def work(number: int) -> int:
        assert running.acquire(blocking=False), "two at once"
        threads.add(threading.get_ident())
        order.append(number)
        running.release()
        return number * number

    async def main() -> list[int]:
        worker = Worker()
        jobs = [worker.run(f"job {n}", lambda job, n=n: work(n), gone=never) for n in range(8)]
        return await asyncio.gather(*jobs)

    assert run_apart(main()) == [n * n for n in range(8)]
    assert order == list(range(8))
    assert threads.isdisjoint({threading.get_ident()})


def test_exceptions_come_back() -> None:
    def fail(job: Job[int]) -> int:
        raise OptionError("no such thing")

    async def main() -> None:
        worker = Worker()
        with pytest.raises(OptionError, match="no such thing"):
            await worker.run("fails", fail, gone=never)
        assert await worker.run("works", lambda job: 3, gone=never) == 3

    run_apart(main())


def test_the_loop_goes_on_while_a_job_runs_and_says_what_it_does() -> None:
    leave = threading.Event()
    told: list[str] = []

    async def main() -> None:
        worker = Worker(tell=told.append)

        def slow(job: Job[str]) -> str:
            worker.say("loading")
            assert leave.wait(20)
            return "done"

        first = asyncio.ensure_future(worker.run("first", slow, gone=never))
        second = asyncio.ensure_future(worker.run("second", lambda job: "too", gone=never))
        await until(lambda: worker.working == "loading")
        assert worker.waiting == 1
        leave.set()
        assert (await first, await second) == ("done", "too")
        await until(lambda: worker.working == "")
        assert worker.waiting == 0

    run_apart(main())
    assert told == ["loading"]


def test_a_job_whose_client_went_while_it_waited_never_runs() -> None:
    leave = threading.Event()
    ran: list[str] = []

    async def main() -> None:
        worker = Worker()
        gone = asyncio.Event()
        slow = asyncio.ensure_future(worker.run("slow", lambda job: leave.wait(20), gone=never))

        async def left() -> None:
            await gone.wait()

        waits = asyncio.ensure_future(worker.run("waits", lambda job: ran.append("waits"), gone=left))
        await until(lambda: worker.waiting == 1)
        gone.set()
        with pytest.raises(StoppedError):
            await waits
        leave.set()
        assert await slow
        assert await worker.run("last", lambda job: 1, gone=never) == 1

    run_apart(main())
    assert ran == []


def test_a_running_model_stops_at_its_next_layer() -> None:
    model = tiny("bert")
    layers = model.network.encoder.layer
    reached = [threading.Event() for _ in layers]
    leave = threading.Event()

    def pause(number: int) -> Any:
        def hook(module: torch.nn.Module, arguments: object, output: object) -> None:
            reached[number].set()
            assert leave.wait(20)

        return hook

    handles = [layer.register_forward_hook(pause(number)) for number, layer in enumerate(layers)]

    async def main() -> None:
        worker = Worker()
        gone = asyncio.Event()
        ended = threading.Event()

        def work(job: Job[None]) -> None:
            try:
                with job.watching(model.network):
                    model.network(torch.tensor([[5, 6, 7]]))
            finally:
                ended.set()

        async def left() -> None:
            await gone.wait()

        running = asyncio.ensure_future(worker.run("reads", work, gone=left))
        await until(reached[0].is_set)
        gone.set()
        with pytest.raises(StoppedError):
            await running
        leave.set()
        await until(ended.is_set)
        assert await worker.run("next", lambda job: "free", gone=never) == "free"

    try:
        run_apart(main())
    finally:
        for handle in handles:
            handle.remove()
    assert [event.is_set() for event in reached] == [True, False, False]
    assert not any(module._forward_pre_hooks for module in model.network.modules())


@pytest.mark.parametrize("architecture", ["albert", "distilbert", "gpt2", "t5", "convbert", "llama"])
def test_every_architecture_has_layers_to_stop_at(architecture: str) -> None:
    model = tiny(architecture)
    job: Job[None] = Job("stopped", lambda job: None)
    job.stop()
    ids = torch.tensor([[5, 6, 7]])
    inputs = {"input_ids": ids} | ({"decoder_input_ids": ids} if model.is_encoder_decoder else {})
    with job.watching(model.network), pytest.raises(StoppedError):
        model.network(**inputs)
    model.network(**inputs)


@pytest.mark.parametrize(("readers", "most"), [(1, READER_WAITING), (8, REQUESTS_WAITING)])
def test_too_many_waiting_are_sent_away(readers: int, most: int) -> None:
    leave = threading.Event()

    async def main() -> None:
        worker = Worker()
        jobs = [
            asyncio.ensure_future(
                worker.run("slow", lambda job: leave.wait(20), gone=never, reader=str(number % readers))
            )
            for number in range(most)
        ]
        await asyncio.sleep(0)
        with pytest.raises(TooBusyError, match=str(most)):
            await worker.run("one more", lambda job: None, gone=never, reader="0")
        leave.set()
        await asyncio.gather(*jobs)
        assert await worker.run("again", lambda job: 5, gone=never, reader="0") == 5

    run_apart(main())


def test_readers_take_turns() -> None:
    leave, order = threading.Event(), list[str]()

    def work(name: str) -> None:
        assert leave.wait(20)
        order.append(name)

    async def main() -> None:
        worker = Worker()

        def ask(name: str) -> Any:
            running = worker.run(name, lambda job: work(name), gone=never, reader=name[0])
            return asyncio.ensure_future(running)

        jobs = [ask(f"a{number}") for number in range(5)]
        await until(lambda: worker.working == "a0")
        jobs += [ask("b0"), ask("b1"), ask("c0")]
        await asyncio.sleep(0)
        leave.set()
        await asyncio.gather(*jobs)

    run_apart(main())
    assert order == ["a0", "b0", "c0", "a1", "b1", "a2", "a3", "a4"]


def test_what_was_asked_is_not_kept_once_nobody_waits() -> None:
    leave = threading.Event()

    class Asked:
        """As large as you like."""

    async def main() -> None:
        worker = Worker()
        slow = asyncio.ensure_future(worker.run("slow", lambda job: leave.wait(20), gone=never))
        await until(lambda: worker.working == "slow")
        kept = []

        async def at_once() -> None:
            pass

        for _ in range(50):
            asked = Asked()
            kept.append(weakref.ref(asked))
            with pytest.raises(StoppedError):
                await worker.run("left", lambda job, asked=asked: asked, gone=at_once)
        del asked
        gc.collect()
        assert not [reference for reference in kept if reference() is not None]
        leave.set()
        assert await slow

    run_apart(main())


def test_closing_stops_what_runs_and_what_waits() -> None:
    started = threading.Event()

    def endless(job: Job[None]) -> None:
        started.set()
        while True:
            job.check()

    async def main() -> Worker:
        worker = Worker()
        jobs = [asyncio.ensure_future(worker.run("endless", endless, gone=never)) for _ in range(3)]
        await until(started.is_set)
        worker.close()
        found = await asyncio.gather(*jobs, return_exceptions=True)
        assert all(isinstance(one, StoppedError | asyncio.CancelledError) for one in found)
        return worker

    worker = run_apart(main())
    worker._thread.join(10)
    assert not worker._thread.is_alive()


def test_a_stop_iteration_reaches_whoever_waits() -> None:
    async def main() -> None:
        worker = Worker()
        with pytest.raises(RuntimeError, match="looking: stopped too early"):
            await asyncio.wait_for(worker.run("looking", lambda job: next(iter(())), gone=never), 20)

    run_apart(main())
