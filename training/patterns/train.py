"""Train the pattern networks and say how good they are.

    python -m training.patterns.train [--output FOLDER] [--keep-material FILE]

First cross-validation: every labelled map is judged by networks that saw neither its head nor its document. Then the
networks that are shipped, from all labelled maps. Writes patterns.safetensors and scores.json. On one processor core
the maps take two minutes to make, each fold and the last training ten seconds.
"""

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from training.patterns.contact_sheets import read_rows
from training.patterns.fit import Plan, fit, probabilities
from training.patterns.material import Material, Sizes, build
from training.patterns.real_maps import FOLDS
from training.patterns.scores import agreement, all_scores, independent_agreement

import headscope
from headscope.kinds.pattern_numbers import NUMBERS
from headscope.kinds.patterns import PATTERNS, PatternClassifier

SECOND = Path(__file__).with_name("second_labels.jsonl")
INDEPENDENT = Path(__file__).with_name("independent_labels.jsonl")


def held_out(material: Material, plan: Plan, fold: int) -> Tensor:
    """(map in the fold, pattern) what networks think that saw nothing of the fold."""
    maps = (material.fold == fold).nonzero()[:, 0]
    return probabilities(fit(material, plan, without=fold), material.labelled[maps, 0])


def cross_validate(material: Material, plan: Plan, folds: range = range(FOLDS)) -> dict[str, Any]:
    """The scores over these folds."""
    rows, found = [], []
    for fold in folds:
        maps = (material.fold == fold).nonzero()[:, 0].tolist()
        fold_found = [PATTERNS[place] for place in held_out(material, plan, fold).argmax(-1).tolist()]
        rows += [{**material.rows[place], "fold": fold} for place in maps]
        found += fold_found
        print(f"fold {fold}: {_line(all_scores(rows[-len(maps) :], fold_found)['tested'])}", flush=True)
    return all_scores(rows, found)


def _line(score: dict[str, Any]) -> str:
    return f"macro-F1 {score['macro_f1']:.3f}, accuracy {score['accuracy']:.3f} on {score['maps']} maps"


def facts(scores: dict[str, Any], material: Material) -> dict[str, str]:
    """What is written into the file beside the weights."""
    tested = scores["tested"]
    return {
        "input": f"{NUMBERS} numbers",
        "date": datetime.now(UTC).date().isoformat(),
        "headscope": headscope.__version__,
        "labelled_maps": str(len(material.rows)),
        "macro_f1": f"{tested['macro_f1']:.3f}",
        "f1": json.dumps(tested["f1"]),
        "measured_on": f"{tested['maps']} maps, {FOLDS}-fold, no head and no document on both sides",
    }


def main() -> None:
    """Make the material, cross-validate, train, save."""
    parser = argparse.ArgumentParser(description="Train the pattern networks.")
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent, help="where the files are written"
    )
    parser.add_argument("--keep-material", type=Path, help="a file that keeps the maps for the next time")
    options = parser.parse_args()
    torch.set_num_threads(1)  # with more, sums are added in another order
    kept: Path | None = options.keep_material
    if kept is not None and kept.exists():
        material: Material = torch.load(kept, weights_only=False)
    else:
        material = build(Sizes())
        if kept is not None:
            torch.save(material, kept)
    plan = Plan()
    scores = cross_validate(material, plan)
    second = read_rows(SECOND)
    scores["labelled twice"] = agreement([row["first"] for row in second], [row["label"] for row in second])
    scores["labelled independently"] = independent_agreement(read_rows(INDEPENDENT), material.rows)
    for name, score in scores.items():
        print(name, json.dumps(score))
    (options.output / "scores.json").write_text(json.dumps(scores, indent=1) + "\n", encoding="utf-8")
    classifier = PatternClassifier(fit(material, plan), facts(scores, material))
    classifier.save(options.output / "patterns.safetensors")


if __name__ == "__main__":
    main()
