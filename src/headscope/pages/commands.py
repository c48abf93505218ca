"""What a page tells its reader to type: commands that find the atlas and its model from where they are typed."""

import os
from pathlib import Path
from shlex import quote

from headscope.atlas import Atlas
from headscope.atlas.hub import address_of
from headscope.facts.vocabulary import own_name
from headscope.types import DEMO_MODELS

ATLAS_FILE = "atlas.nc"
"""What the file of an atlas is called in a command, where its name is not known."""

File = str | os.PathLike[str]


def explore_command(atlas: Atlas, file: File | None = None, *, folder: File | None = None) -> str:
    """What opens an atlas with its model in the explorer; the model alone, where the atlas is in no file.

    `file` is where the atlas is kept, by default the file it was opened from. `folder` is where the command is typed:
    that of a page, or without it the one that this program works in.
    """
    command = f"headscope explore {model_argument(atlas, folder)}"
    if file is None and atlas.opened is None:
        return command
    return f"{command} {atlas_argument(atlas, file, folder)}"


def atlas_argument(atlas: Atlas, file: File | None, folder: File | None) -> str:
    """The file of an atlas as a command names it, quoted for a shell."""
    if file is None and atlas.opened is not None:
        file = atlas.opened.path
    return quote(ATLAS_FILE if file is None else address_of(file) or _from(folder, file))


def model_argument(atlas: Atlas, folder: File | None) -> str:
    """The model of an atlas as a command names it, quoted for a shell.

    Nobody knows where a folder is that an atlas names and that is not there: the reader sees that a path is missing.
    """
    name = str(atlas.provenance.get("model", "MODEL"))
    if name not in DEMO_MODELS and Path(name).exists():
        return quote(_from(folder, name))
    own = own_name(name)
    return quote(own if own == name else f"path/to/{own}")


def _from(folder: File | None, path: File) -> str:
    """A path as it is named in `folder`; as it was given for the folder that this program works in."""
    if folder is None:
        return os.fspath(path)
    target = Path(path).resolve()
    try:
        return os.path.relpath(target, Path(folder).resolve())
    except ValueError:  # on another drive of Windows
        return str(target)
