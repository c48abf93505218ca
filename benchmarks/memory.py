"""Does memory depend on how much text there is? Peak memory of the whole process on N and on 10 N segments."""

import resource
import subprocess
import sys
import warnings

SMALL, LARGE = 120, 1200


def peak_megabytes(segments: int) -> float:
    """Peak resident memory of a fresh process that analyses so many segments with every measure."""
    done = subprocess.run(
        [sys.executable, __file__, str(segments)], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def work(segments: int) -> None:
    from material import models, pairs  # noqa: PLC0415 - only the child needs them

    import headscope as hs  # noqa: PLC0415

    warnings.simplefilter("ignore")
    hs.analyze(models()["demo 12 x 8 x 256"], (pair for pair in pairs(segments)))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        work(int(sys.argv[1]))
    else:
        small, large = peak_megabytes(SMALL), peak_megabytes(LARGE)
        print(f"{SMALL} segments: {small:.0f} MB   {LARGE} segments: {large:.0f} MB")
        print(f"ratio {large / small:.3f}  (bar 1.05)")
        sys.exit(1 if large > 1.05 * small else 0)
