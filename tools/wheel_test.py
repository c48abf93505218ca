"""Build the wheels of all distributions, install them into a new environment, and use them from there.

python tools/wheel_test.py            # what `make wheel-test` runs
python tools/wheel_test.py --demo     # also the whole study of `headscope demo`

The environment has neither the source nor Node nor any extra but the demo models. Nothing is left behind but dist/.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
import urllib.request
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
PACKAGES = {"headscope": ROOT, "headscope_models": ROOT / "models", "headscope_papers": ROOT / "papers"}
TEXT = "The quick brown fox jumps over the lazy dog. It was late, and the dog did not mind.\n"
NOT_THERE = ("ray", "datasets", "spacy", "anywidget", "gguf", "pytest")
"""Packages of other extras, which a plain installation does not bring."""


def main() -> None:
    """Build, install, try; the first thing that is wrong ends it."""
    parser = argparse.ArgumentParser(description="Build the wheels and try them in a new environment.")
    parser.add_argument("--demo", action="store_true", help="also run headscope demo, which takes minutes")
    options = parser.parse_args()
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    for wheel in DIST.glob("headscope*.whl"):
        wheel.unlink()
    for package, folder in PACKAGES.items():
        _pip(Path(sys.executable), "wheel", "--no-deps", "-w", DIST, folder)
        _check_files(package, folder, DIST / f"{package}-{version}-py3-none-any.whl")
    with tempfile.TemporaryDirectory(prefix="headscope-wheel-") as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
        python = folder / "env" / "bin" / "python"
        constraints = ROOT / "constraints.txt"
        _pip(python, "install", "-c", constraints, "--find-links", DIST, f"headscope[demo]=={version}")
        (folder / "here").mkdir()
        _try(folder / "env" / "bin", folder / "here", version, demo=options.demo)
        _pip(python, "install", "-c", constraints, "--find-links", DIST, f"headscope-papers=={version}")
        _try_papers(folder / "env" / "bin", folder / "here")
    print(f"the wheels of {version} work: {', '.join(sorted(path.name for path in DIST.glob('*.whl')))}")


def _pip(python: Path, *words: str | Path) -> None:
    command = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", *words]
    subprocess.run(command, check=True)


def _check_files(package: str, folder: Path, wheel: Path) -> None:
    """Every file of the package that is in the repository is in the wheel, and nothing else is."""
    source = folder / "src"
    listed = subprocess.run(
        ["git", "ls-files", "-z", package], cwd=source, capture_output=True, text=True, check=True
    )
    wanted = {name for name in listed.stdout.split("\0") if name}
    with zipfile.ZipFile(wheel) as archive:
        there = {name for name in archive.namelist() if ".dist-info/" not in name}
    if wanted != there:
        sys.exit(f"{wheel.name}: missing {sorted(wanted - there)}, too many {sorted(there - wanted)}")


def _try(binaries: Path, folder: Path, version: str, *, demo: bool) -> None:
    """What people do first, with nothing on the path but the environment."""
    environment = _environment(binaries, folder)
    if shutil.which("node", path=environment["PATH"]) is not None:
        sys.exit("Node is in the new environment")
    _check_packages(binaries / "python", folder, environment)
    assert _run(binaries, folder, "--version").split() == ["headscope", version]
    (folder / "text.txt").write_text(TEXT * 4, encoding="utf-8")
    analyzed = json.loads(
        _run(binaries, folder, "analyze", "demo", "--text", "text.txt", "-o", "atlas.nc", "--json")
    )
    assert analyzed["texts"] > 0, analyzed
    _check_kernels(binaries / "python", folder, environment)
    _run(binaries, folder, "report", "atlas.nc", "-o", "report.html")
    _run(binaries, folder, "view", "demo", "The cat sat.", "-o", "view.html")
    for page in ("report.html", "view.html"):
        assert len((folder / page).read_bytes()) > 100_000, page
    _explore(binaries / "headscope", folder, environment)
    assert "pip install headscope-papers" in _run(binaries, folder, "reproduce", "all", "demo", fails=True)
    if demo:
        _run(binaries, folder, "demo")
        assert (folder / "demo" / "report.html").is_file()


def _try_papers(binaries: Path, folder: Path) -> None:
    """The commands of headscope-papers, once it is installed too."""
    assert "\n  reproduce " in _run(binaries, folder, "--help")
    _run(binaries, folder, "probe", "parser", "--help")
    compared = json.loads(
        _run(binaries, folder, "reproduce", "vig2019", "atlas.nc", "--page", "vig.html", "--json")
    )
    assert compared["paper"] == "vig2019", compared
    assert (folder / "vig.html").is_file()


def _environment(binaries: Path, folder: Path) -> dict[str, str]:
    environment = {"PATH": str(binaries), "HOME": str(folder), "HF_HUB_OFFLINE": "1"}
    return environment | {name: os.environ[name] for name in ("OMP_NUM_THREADS",) if name in os.environ}


def _run(binaries: Path, folder: Path, *words: str, fails: bool = False) -> str:
    """What a command prints; where it `fails`, as it should, what it says of that."""
    print("headscope", *words, flush=True)
    done = subprocess.run(
        [binaries / "headscope", *words],
        cwd=folder,
        env=_environment(binaries, folder),
        capture_output=True,
        text=True,
        check=False,
    )
    if bool(done.returncode) != fails:
        sys.exit(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stderr if fails else done.stdout


def _check_packages(python: Path, folder: Path, environment: dict[str, str]) -> None:
    """Only what headscope needs is there, and headscope is not the source's."""
    code = (
        "import headscope, importlib.util as u; "
        f"print(headscope.__file__, *[name for name in {NOT_THERE} if u.find_spec(name)])"
    )
    done = subprocess.run(
        [python, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    place, *extras = done.stdout.split()
    if extras or not Path(place).is_relative_to(python.parents[1]):
        sys.exit(f"in the new environment are {', '.join(extras) or 'no extras'}; headscope is {place}")


def _check_kernels(python: Path, folder: Path, environment: dict[str, str]) -> None:
    """Attention was computed by the compiled loops: a plain installation has all that they need."""
    code = "import headscope as hs; print(hs.open('atlas.nc').provenance['options']['kernels'])"
    done = subprocess.run(
        [python, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    if done.stdout.strip() != "used":
        sys.exit(f"kernels in the new environment: {done.stdout.strip()}")


def _explore(command: Path, folder: Path, environment: dict[str, str]) -> None:
    """The page, its bundle, a text and an atlas; then Ctrl-C."""
    print("headscope explore demo atlas.nc", flush=True)
    words = [command, "explore", "demo", "atlas.nc", "--no-open", "--quiet"]
    server = subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        address, _, token = server.stdout.readline().strip().partition("/#token=")

        def ask(path: str, body: dict[str, str] | None = None) -> bytes:
            data = None if body is None else json.dumps(body).encode()
            headers = {"X-Headscope-Token": token, "Content-Type": "application/json"}
            request = urllib.request.Request(address + path, data, headers)
            with urllib.request.urlopen(request, timeout=120) as answer:
                content: bytes = answer.read()
                return content

        assert b"headscope.js" in ask("/")
        assert len(ask("/assets/headscope.js")) > 100_000
        assert [atlas["id"] for atlas in json.loads(ask("/api/about"))["atlases"]] == ["atlas"]
        assert json.loads(ask("/api/atlas/atlas"))["model"] == "demo"
        seen = json.loads(ask("/api/seen", {"model": "demo", "text_a": "The cat sat."}))
        assert ask(f"/api/seen/{seen['id']}/maps/encoder/7")
    finally:
        server.send_signal(signal.SIGINT)
        if server.wait(60) != 0:
            sys.exit(f"explore ended with {server.returncode}")


if __name__ == "__main__":
    main()
