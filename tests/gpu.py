"""The kernels on a GPU, without pytest: torch, triton, transformers and numpy are enough.

make test-gpu
"""

import sys

import torch
from tests.helpers.fused import CASES, LARGE_CASES, ON_GPU, check


def main() -> None:
    """Run every case; exit with 1 where one fails, and say which."""
    if not ON_GPU:
        sys.exit("no CUDA device was found; the same cases run interpreted: pytest tests/capture/kernels")
    failed = 0
    cases = {**CASES, **LARGE_CASES}
    for name, case in cases.items():
        try:
            check(case)
        except Exception as error:
            failed += 1
            print(f"FAILED {name}: {type(error).__name__}: {str(error).splitlines()[0]}", flush=True)
    print(f"{torch.cuda.get_device_name()}: {len(cases) - failed} of {len(cases)} cases pass")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
