"""The kernels on a GPU, without pytest: torch, triton, transformers and numpy are enough.

make test-gpu
"""

import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

import torch
from tests.helpers.fused import CASES, LARGE_CASES, ON_GPU, Case, check


def _fast(case: Case) -> bool:
    """Whether its kernels are compiled soon: those of full precision take minutes where heads are wide."""
    return case.dtype != torch.float32 or case.width <= 32


ALL = dict(sorted({**CASES, **LARGE_CASES}.items(), key=lambda named: -_fast(named[1])))
WORKERS = 16  # each case is compiled first, which takes most of the time


def failure(name: str) -> str | None:
    """Why a case fails, in a line; None where it passes."""
    try:
        check(ALL[name])
    except Exception as error:  # a compiler, a driver, a number: all are failures of the case
        return f"FAILED {name}: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    return None


def main() -> None:
    """Run every case; exit with 1 where one fails, and say which."""
    if not ON_GPU:
        sys.exit("no CUDA device was found; the same cases run interpreted: pytest tests/kernels")
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
        failures: list[str] = []
        for done, run in enumerate(as_completed([pool.submit(failure, name) for name in ALL]), 1):
            if line := run.result():
                failures.append(line)
                print(line, flush=True)
            if done % 20 == 0:
                print(f"{done} of {len(ALL)} cases done, {len(failures)} failed", flush=True)
    print(f"{torch.cuda.get_device_name()}: {len(ALL) - len(failures)} of {len(ALL)} cases pass")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
