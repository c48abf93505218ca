"""`headscope explore`: models and atlases in the browser, from a server on this machine."""

import os
import sys
import webbrowser
from typing import Any

from headscope.cli import options as shared
from headscope.cli.console import one_line, stderr
from headscope.cli.session import session


@shared.with_common(without=("batch_size", "revision", "full", *shared.ENGINE))
def explore(
    sources: list[str] | None = None,
    *,
    port: int = 0,
    open: bool | None = None,
    max_length: shared.MaxLength = 512,
    common: shared.Common,
) -> None:
    """Look at heads in the browser: texts, atlases, predictions.

    Starts a server on 127.0.0.1, which only this machine can reach, and prints its link, access token included, even
    with --quiet. Loads each model when it is first used. Stop it with Ctrl-C.
    """
    with session(common) as run:
        with run.status("starting"):
            # Loads torch and the web framework, which no other command should wait for.
            from headscope import server

            listener = server.listening(port)
            try:
                catalogue = server.Catalogue(sources or ["demo"], **common.load_options)
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
            tell=_tell if common.shown else lambda line: None,
        )
        if common.quiet and not common.json:
            print(link, flush=True)  # without it there is no way in
        atlases = [atlas.name for atlas in catalogue.atlases.values()]
        facts = {"link": link, "models": list(catalogue.models), "atlases": atlases}
        run.tell(facts, dict, lambda page, _: page.say(link))
        if common.shown:
            _print_names(facts)
        if open if open is not None else _has_screen():
            webbrowser.open(link)
        server.serve(app, listener, debug=common.debug)
    if common.shown:
        stderr().print("stopped")


def _print_names(facts: dict[str, Any]) -> None:
    notes = stderr()
    for kind in ("model", "atlas"):
        for name in facts["models" if kind == "model" else "atlases"]:
            notes.print(f"{kind}: {one_line(name)}", soft_wrap=True)
    notes.print("Open the link in a browser on this machine; Ctrl-C stops the server.")
    sys.stdout.flush()


def _tell(line: str) -> None:
    stderr().print(one_line(line), soft_wrap=True)


def _has_screen() -> bool:
    """Whether a browser would open a window, and somebody sits in front of it."""
    if not sys.stdout.isatty():
        return False
    return sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
