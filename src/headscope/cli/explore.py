"""`headscope explore`: models and atlases in the browser, from a server on this machine."""

import os
import sys
import webbrowser
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli.console import one_line, only_own_notes, print_json, status, stderr, stdout
from headscope.cli.options import AllowPickle, Debug, Device, Dtype, Json
from headscope.cli.usage import PlainUsageCommand

if TYPE_CHECKING:
    from headscope.server import Catalogue

EXAMPLE = "Example: headscope explore demo demo-qa atlas.nc"


class ExploreCommand(PlainUsageCommand):
    """A command that takes any number of models and atlases."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """As people write it."""
        return ["[MODEL|ATLAS ...]", "[OPTIONS]"]


def explore(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL|ATLAS...",
            show_default=False,
            help="demo, demo-mrpc, demo-qa, a folder that save_pretrained wrote, a name on the hub, or the .nc file "
            "of an atlas; any number and mix. Without any: demo.",
        ),
    ] = None,
    *,
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, metavar="N", show_default=False, help="Which port; a free one by default."
        ),
    ] = 0,
    open_page: Annotated[
        bool | None,
        typer.Option(
            "--open/--no-open",
            show_default=False,
            help="Open the page in a browser, or only print its link; by default where there is a screen.",
        ),
    ] = None,
    max_length: Annotated[
        int, typer.Option(min=1, metavar="N", help="Most tokens of a text that is looked at.")
    ] = 512,
    device: Device = "auto",
    dtype: Dtype = "auto",
    allow_pickle: AllowPickle = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing but the link and errors.")
    ] = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Look at heads in the browser: texts, atlases, predictions.

    A server on 127.0.0.1, for this machine alone; the printed link has the access token in it. Models are loaded
    when they are first used. Stop it with Ctrl-C.
    """
    shown = not (quiet or json)
    with only_own_notes(debug=debug):
        with status("starting", shown=shown):
            # Loads torch and the web framework, which no other command should wait for.
            from headscope import server

            listener = server.listening(port)
            options = {"device": device, "dtype": dtype, "allow_pickle": allow_pickle}
            try:
                catalogue = server.Catalogue(sources or ["demo"], **options)
            except BaseException:
                listener.close()
                raise
        token = server.new_token()
        link = server.link_of(listener, token)
        app = server.create_app(
            catalogue,
            token=token,
            hosts=server.hosts_of(listener),
            longest=max_length,
            tell=_tell if shown else _nothing,
        )
        _announce(link, catalogue, shown=shown, as_json=json)
        if open_page if open_page is not None else _has_screen():
            webbrowser.open(link)
        server.serve(app, listener, debug=debug)
    if shown:
        stderr().print("stopped")


def _announce(link: str, catalogue: "Catalogue", *, shown: bool, as_json: bool) -> None:
    models, atlases = list(catalogue.models), [one.name for one in catalogue.atlases.values()]
    if as_json:
        print_json({"link": link, "models": models, "atlases": atlases})
        return
    console = stdout()
    console.print(link, soft_wrap=True)  # with -q too: without it there is no way in
    if shown:
        notes = stderr()
        for kind, names in (("model", models), ("atlas", atlases)):
            for name in names:
                notes.print(f"{kind}: {one_line(name)}", soft_wrap=True)
        notes.print("Open the link in a browser on this machine; Ctrl-C stops the server.")
    sys.stdout.flush()


def _tell(line: str) -> None:
    stderr().print(one_line(line), soft_wrap=True)


def _nothing(line: str) -> None:
    pass


def _has_screen() -> bool:
    """Whether a browser would open a window, and somebody sits in front of it."""
    if not sys.stdout.isatty():
        return False
    return sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
