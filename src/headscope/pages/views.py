"""Views that other packages add: a class says what a view is called, gives its data, and names what draws it.

See docs/guide/extending.md, "A view", and docs/design/0027-views.md.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from pydantic_core import to_json

from headscope.errors import HeadscopeError, OptionError
from headscope.pages import ViewName
from headscope.registry import Registry

if TYPE_CHECKING:  # they load torch and xarray, which the command line does without when it checks names
    from headscope.atlas import Atlas
    from headscope.pages.seen import Observed
    from headscope.types import HeadId

Subject = Literal["text", "atlas", "head"]
Control = Literal["layer", "heads", "head"]

VIEWS: Registry[type["View"]] = Registry("view")

_DEFAULT = re.compile(r"^export default\b", re.MULTILINE)
_IMPORT = re.compile(r"^(import\b|export\s+(?!default\b))", re.MULTILINE)


class View(ABC):
    """What all views of other packages have; derive from `TextView`, `AtlasView` or `HeadView`."""

    name: ClassVar[str]
    """As it is in links, and as it is registered."""
    title: ClassVar[str]
    """What its tab says."""
    about: ClassVar[str]
    """One sentence for the help."""
    script: ClassVar[str | Path]
    """An ES module, or its file, that exports a function by default: `draw(place, data, now)`; see the guide."""
    subject: ClassVar[Subject]
    controls: ClassVar[tuple[Control, ...]] = ()
    """Which of the frame's controls it is steered by, in a view of a text."""

    @classmethod
    def module(cls) -> str:
        """The script as pages carry it: it makes its default export known under the view's name."""
        script = cls.script.read_text(encoding="utf-8") if isinstance(cls.script, Path) else cls.script
        if len(_DEFAULT.findall(script)) != 1 or _IMPORT.search(script):
            raise OptionError(
                f"the script of the view {cls.name!r} must have one 'export default' at the start of a line, no other "
                "export and no import: pages load nothing but what they hold"
            )
        if "</script" in script.lower():
            raise OptionError(f"the script of the view {cls.name!r} holds </script, which would end it")
        body = _DEFAULT.sub("exported.draw =", script)
        known = f"(globalThis.headscopeViews ??= {{}})[{to_json(cls.name).decode()}]"
        return f"{known} = (() => {{\nconst exported = {{}};\n{body.strip()}\nreturn exported.draw;\n}})();\n"


class TextView(View):
    """A view of one text as a model saw it."""

    subject: ClassVar[Subject] = "text"

    @abstractmethod
    def data(self, observed: "Observed") -> Any:
        """What is drawn: anything that JSON can hold, and arrays of numbers."""


class AtlasView(View):
    """A view of a whole atlas."""

    subject: ClassVar[Subject] = "atlas"

    @abstractmethod
    def data(self, atlas: "Atlas") -> Any:
        """What is drawn: anything that JSON can hold, and arrays of numbers."""


class HeadView(View):
    """A view of one head of an atlas, made for every head."""

    subject: ClassVar[Subject] = "head"

    @abstractmethod
    def data(self, atlas: "Atlas", stack: str, head: "HeadId") -> Any:
        """What is drawn: anything that JSON can hold, and arrays of numbers."""


def views_of(*subjects: Subject) -> Iterator[type[View]]:
    """The registered views of a text, an atlas or a head."""
    return (view for view in map(VIEWS.get, VIEWS.names()) if view.subject in subjects)


def view_json(name: str, subject: Subject, *about: object) -> bytes:
    """What the view of that name shows of a text, an atlas or a head, as JSON; numbers that are none are null."""
    view = VIEWS.get(name)
    if view.subject != subject:
        raise OptionError(f"the view {name!r} is of a {view.subject}, not of a {subject}")
    make: Callable[..., Any] = getattr(view(), "data")  # noqa: B009 - each kind of view takes other arguments
    try:
        return to_json(make(*about), inf_nan_mode="null", fallback=lambda value: value.tolist())
    except HeadscopeError:
        raise
    except Exception as error:
        raise OptionError(
            f"the view {name!r} failed ({type(error).__name__}: {error}); repair or uninstall its package"
        ) from error


def check_view(name: str) -> None:
    """Raise OptionError unless there is a view of a text of that name."""
    known = [*get_args(ViewName), *(view.name for view in views_of("text"))]
    if name not in known:
        raise OptionError(f"there is no view {name!r}; choose from {', '.join(known)}")
