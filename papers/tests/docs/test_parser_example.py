"""The worked example of the parser probe's page: computed by its own code, and written there as tested."""

import torch
from tests.docs.test_probe_examples import GRID, MAT_MAP, MAT_WORDS, NOTHING, check_arrays, worked_example
from tests.helpers.tiny import tiny

from headscope.stats.documents import Sampling
from headscope.text.skipped import Skipped
from headscope_papers.parser.result import PARSERS, ParserResult, ParserScore
from headscope_papers.parser.scorers import AttentionScorer, Scene
from headscope_papers.parser.training import Learner


def test_parser() -> None:
    scorer = AttentionScorer(torch.eye(1))
    with torch.no_grad():
        scorer.mixed.copy_(torch.tensor([[2.0], [1.0]]))
        scorer.root_weight.copy_(torch.tensor([0.4, 1.0]))
        scores = scorer(Scene(torch.ones(1, 3, dtype=torch.bool), torch.tensor([MAT_MAP])[..., None]))[0]
    names = (*MAT_WORDS, "ROOT")
    choices = [names[place] for place in scores.argmax(-1).tolist()]
    for word, row, choice in zip(MAT_WORDS, scores.tolist(), choices, strict=True):
        cells = ["\N{EN DASH}" if value == -torch.inf else f"{round(value, 4):g}" for value in row]
        assert f"| {word} | {' | '.join(cells)} | {choice} |" in worked_example("parser")
    assert choices == ["mat", "ROOT", "ROOT"]
    probability = scores.softmax(-1)[0, 2].item()
    assert f"the probability {probability:.4f}" in worked_example("parser")
    right = sum(choice == head for choice, head in zip(choices, ("mat", "mat", "ROOT"), strict=True))
    assert f"UAS {right / 3:.4f}" in worked_example("parser")
    scored = ParserScore(0.5, 0.1, (0.4, 0.6), Sampling("texts", 1, 1.0), 3, 0.5, 2, Skipped("words"))
    learner = Learner("attention", scorer, network="model", device=torch.device("cpu"))
    result = ParserResult(
        tiny("bert"), NOTHING, GRID, dict.fromkeys(PARSERS, scored), {"attention": learner}, 1
    )
    check_arrays("parser", result.arrays())
