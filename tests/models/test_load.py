"""Loading by name, and one clear line for everything that can be wrong with it."""

import errno
import json
import sys
import warnings
from copy import deepcopy
from pathlib import Path

import pytest
import torch
import transformers as tf
from safetensors.torch import load_file, save_file
from tests.helpers.tasks import headed
from tests.helpers.tiny import BUILDERS, saved, tiny
from transformers import PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

import headscope as hs
from headscope.errors import HeadscopeWarning, ModelError, OptionError
from headscope.models import DEMO_MODELS
from headscope.models.load import quiet_transformers
from headscope.models.sources import Origin, explain
from headscope.pages.seen import observe


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tiny BERT as save_pretrained leaves it."""
    model = tiny("bert")
    return saved(model, tmp_path)


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


@pytest.mark.parametrize("name", DEMO_MODELS)
def test_demo_models_load(name: str) -> None:
    model = hs.load(name)
    assert (model.config.num_hidden_layers, model.config.num_attention_heads) == (12, 8)
    assert model.dtype == torch.float32
    assert model.max_length == 512
    assert model.has_segments is (name != "demo-lm")


def test_a_folder_loads_with_the_weights_it_holds(folder: Path) -> None:
    model = hs.load(folder)
    assert model.weights_hash == tiny("bert").weights_hash
    assert hs.load(str(folder), dtype="float16").dtype == torch.float16


def test_a_name_found_nowhere_says_where_it_was_sought() -> None:
    with pytest.raises(
        ModelError,
        match=r"not a demo model \(demo, demo-mrpc, demo-qa, demo-lm\), not a folder, and could not be found",
    ):
        hs.load("no-such-org/no-such-model")


def test_a_missing_models_distribution_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["headscope.models.sources"], "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"pip install 'headscope\[demo\]'"):
        hs.load("demo")


def test_a_folder_without_a_config(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no config\.json"):
        hs.load(tmp_path)


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_text("x")
    with pytest.raises(ModelError, match="is a file"):
        hs.load(tmp_path / "weights.bin")


def test_pickled_weights_are_refused_unless_allowed(folder: Path) -> None:
    torch.save(tiny("bert").network.state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="allow_pickle=True"):
        hs.load(folder)
    assert hs.load(folder, allow_pickle=True).weights_hash == tiny("bert").weights_hash


def test_remote_code_is_never_run(folder: Path) -> None:
    (folder / "evil.py").write_text("raise SystemExit('remote code ran')")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "evil", "auto_map": {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="no remote code"):
        hs.load(folder)


def test_weights_that_lack_a_layer_are_refused(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 4}))
    with pytest.raises(ModelError, match=r"the weights lack 16 of the model's parameters"):
        hs.load(folder)


def write_config(folder: Path, **changes: int) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))


LAYERS = {"gpt2": "n_layer", "distilbert": "n_layers", "t5": "num_layers", "bart": "encoder_layers"}


@pytest.mark.parametrize(
    "architecture", ["bert", "roberta", "gpt2", "llama", "distilbert", "t5", "bart", "mpnet"]
)
def test_a_config_with_fewer_layers_than_the_weights_is_refused(architecture: str, tmp_path: Path) -> None:
    model = tiny(architecture)
    saved(model, tmp_path)
    assert hs.load(tmp_path).weights_hash == model.weights_hash
    write_config(tmp_path, **{LAYERS.get(architecture, "num_hidden_layers"): 2})
    with pytest.raises(
        ModelError, match=r"layers that the model would leave out \(\d+ parameters, such as .*2\."
    ):
        hs.load(tmp_path)


@pytest.mark.parametrize(
    ("architecture", "head"),
    [("bert", "pretraining"), ("gpt2", "classification"), ("llama", "lm"), ("roberta", "mlm")],
)
def test_weights_of_heads_are_left_out_in_silence_and_layers_are_not(
    architecture: str, head: str, tmp_path: Path
) -> None:
    model = headed(architecture, head)
    saved(model, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert hs.load(tmp_path).weights_hash == model.weights_hash
    write_config(tmp_path, **{LAYERS.get(architecture, "num_hidden_layers"): 1})
    with pytest.raises(ModelError, match="layers that the model would leave out"):
        hs.load(tmp_path)


@pytest.mark.parametrize("prefix", ["", "bert."])
def test_other_weights_of_the_core_that_are_not_used_are_named(folder: Path, prefix: str) -> None:
    weights = {prefix + name: tensor for name, tensor in load_file(folder / "model.safetensors").items()}
    extra = {f"{prefix}encoder.layer.1.gate.weight": torch.ones(2), "head.pooler.dense.weight": torch.ones(2)}
    save_file(weights | extra, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.warns(
        HeadscopeWarning, match=rf"1 of the weights .* such as {prefix}encoder.layer.1.gate.weight"
    ):
        hs.load(folder)


def added_token(folder: Path) -> PreTrainedTokenizerBase:
    """A tokenizer that makes one token of "zebra" which the model has no embedding for."""
    tokenizer = deepcopy(tiny("bert").tokenizer)
    tokenizer.add_tokens([f"unused{number}" for number in range(128 - len(tokenizer))] + ["zebra"])
    tokenizer.save_pretrained(folder)
    return tokenizer


def test_a_tokenizer_larger_than_the_table_works_until_a_text_uses_what_is_beyond(folder: Path) -> None:
    added_token(folder)
    with pytest.warns(
        HeadscopeWarning, match="its tokenizer has 129 entries and its embedding table 128 rows"
    ):
        model = hs.load(folder)
    texts = ["the cat sat.", "a dog saw the mat."]
    atlas = hs.analyze(model, texts, measures=["entropy"], max_length=40)
    assert atlas["entropy"].equals(
        hs.analyze(tiny("bert"), texts, measures=["entropy"], max_length=40)["entropy"]
    )
    for ask in (
        lambda: hs.analyze(model, ["the zebra sat."], max_length=40),
        lambda: hs.mean_outputs(model, ["the zebra sat."]),
        lambda: observe(model, "the zebra sat."),
    ):
        with pytest.raises(
            ModelError,
            match=r"token 128 \('zebra'\), and the embedding table has 128 rows for a tokenizer of 129",
        ):
            ask()


def test_a_padding_token_beyond_the_table_is_replaced(folder: Path) -> None:
    """As in fine-tuned decoders whose tokenizer was given a padding token and whose table was not."""
    tokenizer = added_token(folder)
    tokenizer.pad_token = "zebra"
    texts = ["the cat sat.", "a dog saw the mat and the house."]
    atlas = hs.analyze(hs.wrap(tiny("bert").network, tokenizer), texts, measures=["entropy"], max_length=40)
    assert atlas["entropy"].equals(
        hs.analyze(tiny("bert"), texts, measures=["entropy"], max_length=40)["entropy"]
    )


def test_a_model_of_pictures_is_refused(tmp_path: Path) -> None:
    config = tf.ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1])
    tf.ResNetModel(config).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="no usable text tokenizer"):
        hs.load(tmp_path)


def test_a_model_without_fast_tokenizer_is_refused() -> None:
    class Slow(PreTrainedTokenizerBase):
        is_fast = False

    with pytest.raises(ModelError, match="not a fast one"):
        hs.wrap(tiny("bert").network, Slow())


def test_something_that_is_no_transformer_is_refused() -> None:
    with pytest.raises(ModelError, match="a transformers model is needed, not Linear"):
        hs.wrap(torch.nn.Linear(2, 2), tiny("bert").tokenizer)  # type: ignore[arg-type]


@pytest.mark.parametrize(("device", "message"), [("gpu0", "is not a device"), ("cuda:9", "CUDA")])
def test_bad_devices(device: str, message: str) -> None:
    if device.startswith("cuda") and torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    with pytest.raises(OptionError, match=message):
        hs.load("demo", device=device)


def test_bad_precision() -> None:
    with pytest.raises(OptionError, match="is not a precision"):
        hs.load("demo", dtype="float8")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("architecture", "limit"), [("bert", 64), ("roberta", 64 + 1), ("gpt2", 64), ("t5", None)]
)
def test_longest_text_a_model_takes(architecture: str, limit: int | None) -> None:
    model = tiny(architecture)
    assert model.max_length == limit
    if limit is not None:  # the network itself is the judge
        ids = torch.full((1, limit), 7)
        model.network(ids)
        with pytest.raises((IndexError, RuntimeError)):
            model.network(torch.full((1, limit + 1), 7))


@pytest.mark.parametrize("architecture", BUILDERS)
def test_what_a_model_is_in_one_line(architecture: str) -> None:
    assert repr(tiny(architecture)).startswith(f"<Model tiny-{architecture}: ")


def test_a_folder_has_no_revisions(folder: Path) -> None:
    with pytest.raises(OptionError, match="has no revisions"):
        hs.load(folder, revision="main")


def test_running_out_of_disk_is_not_called_a_missing_model() -> None:
    error = OSError(errno.ENOSPC, "No space left on device")
    assert "No space left" in str(explain(error, Origin("org/name", "org/name")))


def test_a_pooler_that_was_made_up_does_not_change_the_hash(tmp_path: Path) -> None:
    """Weights for questions have no pooler; transformers makes one up, another at every loading."""
    model = tiny("bert")
    network = tf.BertForQuestionAnswering(
        deepcopy(model.config)
    )  # saving writes into it, and tiny models are shared
    network.save_pretrained(tmp_path)
    model.tokenizer.save_pretrained(tmp_path)
    first, second = hs.load(tmp_path), hs.load(tmp_path)
    made_up = [one.core.pooler.dense.weight for one in (first, second)]
    assert not made_up[0].equal(made_up[1])
    assert first.weights_hash == second.weights_hash
    assert first.weights_hash != model.weights_hash


def test_transformers_says_nothing_while_a_model_is_loaded(caplog: pytest.LogCaptureFixture) -> None:
    log = transformers_logging.get_logger("transformers.modeling_utils")
    verbosity = transformers_logging.get_verbosity()
    with quiet_transformers():
        log.error("while it is loaded")
        assert not transformers_logging.is_progress_bar_enabled()
    log.error("afterwards")
    assert caplog.messages == ["afterwards"]
    assert transformers_logging.get_verbosity() == verbosity
