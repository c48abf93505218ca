"""Atlases from and to the Hugging Face hub: a file in a data set's repository, beside a card that says what it is.

An address is `hf://owner/name/atlas.nc`, with `owner/name@branch` for another branch, tag or commit, and
`hf://models/owner/name/atlas.nc` for a file in a model's repository.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.errors import AtlasError, OptionError, OutputError

if TYPE_CHECKING:
    from headscope.atlas.atlas import Atlas

SCHEME = "hf://"
SENTENCES = "_examples"
"""How the names of groups end that hold sentences of the texts."""

_ADDRESS = re.compile(
    r"hf://(?P<kind>models/|datasets/)?(?P<repo>[\w.-]+/[\w.-]+?)(?:@(?P<revision>[^/]+))?/(?P<file>.+\.nc)"
)


def address_of(path: str | os.PathLike[str]) -> str | None:
    """The address that a path stands for; None where it is one of this machine."""
    start, slash, rest = os.fspath(path).partition(
        ":/"
    )  # one of the two slashes is lost where it becomes a path
    return SCHEME + rest.removeprefix("/") if f"{start}{slash}/" == SCHEME else None


def fetched(path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The path as it is, or for an address the file there, as it lies in the hub's cache on this machine."""
    address = address_of(path)
    if address is None:
        return path
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise OptionError(
            f"{address!r} is no address of an atlas; write hf://owner/name/atlas.nc (or hf://owner/name@revision/…)"
        )
    hub = import_module("huggingface_hub")
    try:
        return Path(
            hub.hf_hub_download(
                match["repo"],
                match["file"],
                revision=match["revision"],
                repo_type="model" if match["kind"] == "models/" else "dataset",
            )
        )
    except _failures(hub) as error:
        why = str(error).strip().partition("\n")[0]
        raise AtlasError(
            f"{address} cannot be fetched ({type(error).__name__}: {why}); check the name, the network, and for "
            "private repositories: hf auth login"
        ) from error


def push(atlas: Atlas, repo: str, *, name: str, sentences: bool, private: bool | None) -> str:
    """Put the atlas and its card into a data set's repository, made where it is missing; its address."""
    address = f"{SCHEME}{repo}/{name}"
    if not _ADDRESS.fullmatch(address):
        raise OptionError(
            f"{repo!r} and {name!r} make no address; give owner/name, and a file name that ends in .nc"
        )
    shared = atlas if sentences else without_sentences(atlas)
    hub = import_module("huggingface_hub")
    api = hub.HfApi()
    try:
        api.create_repo(repo, repo_type="dataset", private=private, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="headscope-") as folder:
            file = Path(folder) / Path(name).name
            shared.save(file)
            message = f"Atlas of {atlas.provenance['model']}"
            for content, path in ((file, name), (card(shared, address).encode(), _card_name(api, repo))):
                api.upload_file(
                    path_or_fileobj=content,
                    path_in_repo=path,
                    repo_id=repo,
                    repo_type="dataset",
                    commit_message=message,
                )
    except _failures(hub) as error:
        why = str(error).strip().partition("\n")[0]
        raise OutputError(
            f"{address} cannot be written ({type(error).__name__}: {why}); check the name and: hf auth login"
        ) from error
    return address


def _failures(hub: Any) -> tuple[type[Exception], ...]:
    errors = hub.errors
    return (OSError, errors.HfHubHTTPError, errors.HFValidationError, errors.EntryNotFoundError)


def _card_name(api: Any, repo: str) -> str:
    """README.md is what the hub shows; one that somebody else wrote stays."""
    if not api.file_exists(repo, "README.md", repo_type="dataset"):
        return "README.md"
    ours = Path(api.hf_hub_download(repo, "README.md", repo_type="dataset")).read_text(encoding="utf-8")
    return "README.md" if MADE_BY in ours else "ATLAS.md"


def without_sentences(atlas: Atlas) -> Atlas:
    """The atlas without the sentences that it quotes from its texts."""
    from headscope.atlas.adding import datasets_of
    from headscope.atlas.atlas import Atlas
    from headscope.atlas.trees import tree_of

    groups = {
        path.lstrip("/"): group
        for path, group in datasets_of(atlas).items()
        if not path.rpartition("/")[2].endswith(SENTENCES)
    }
    probes = {
        probe: {**facts, "arrays": [name for name in facts.get("arrays", []) if not name.endswith(SENTENCES)]}
        for probe, facts in atlas.probes.items()
    }
    return Atlas(tree_of(groups, {"probes": json.dumps(probes)} if probes else {}))


MADE_BY = "Made with headscope"


def card(atlas: Atlas, address: str) -> str:
    """What a reader of the repository wants to know, as Markdown with the hub's heading."""
    facts = atlas.provenance
    quoted = any(path.endswith(SENTENCES) for path, _ in atlas.tree.subtree_with_keys)
    heads = ", ".join(
        f"{stack} {shape[0]} layers x {shape[1]} heads"
        for stack in atlas.stacks
        if (shape := atlas.shape(stack)) is not None
    )
    rows = {
        "model": f"{facts.get('model')} ({facts.get('architecture')})",
        "weights": facts.get("weights_hash"),
        "heads": heads,
        "texts": f"{facts.get('corpus')}: {facts.get('texts')} texts, {facts.get('tokens')} tokens",
        "texts' hash": facts.get("corpus_hash"),
        "measures": ", ".join(atlas.measures),
        "probes": ", ".join(atlas.probes) or "none",
        "sentences of the texts": "quoted" if quoted else "left out",
        "made": f"{facts.get('created')}, headscope {facts.get('versions', {}).get('headscope', '')}",
    }
    table = "\n".join(f"| {name} | {str(value).replace('|', '/')} |" for name, value in rows.items())
    file = address.rpartition("/")[2]
    return f"""---
tags:
- headscope
- attention
- interpretability
---

# What the attention heads of {facts.get("model")} do

An atlas (`{file}`): numbers for every attention head, with their uncertainty and baselines, in one NetCDF file.

| | |
|---|---|
{table}

```python
import headscope as hs

atlas = hs.open("{address}")
atlas.findings()
```

{MADE_BY}.
"""
