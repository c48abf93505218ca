"""One typed registry: built-ins join by decorator, third parties by entry point."""

from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Generic, TypeVar

from headscope.errors import OptionError, choices

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

BUILT_IN = {
    "measure": (
        "distance_features",
        "entropy",
        "example_map",
        "explained",
        "head_distance",
        "loudness",
        "named_patterns",
        "offset_attention",
        "role_attention",
    ),
    "probe": ("dependency", "coreference", "relations", "features"),
    "task": ("qa", "classification", "regression", "mlm", "lm", "seq2seq"),
}
"""The names that come with headscope: for the command line, which lists and checks names before torch is loaded."""


@cache
def entry_points(group: str) -> "Iterable[EntryPoint]":
    """What installed packages declare in this group; looked for once, which takes as long as a small command."""
    metadata = import_module("importlib.metadata")  # slow to load
    found: Iterable[EntryPoint] = metadata.entry_points(group=group)
    return found


def known_names(kind: str) -> list[str]:
    """The names in the registry of this kind, those of other packages too, without loading what they stand for."""
    added = [point.name for point in entry_points(group=_group(kind))]
    return [*BUILT_IN[kind], *(name for name in added if name not in BUILT_IN[kind])]


def no_such(kind: str, name: str, known: Iterable[str]) -> OptionError:
    """The error for a name that no registry of this kind has."""
    return OptionError(f"there is no {kind} called {name!r}; {choices(name, known)}")


def _group(kind: str) -> str:
    return f"headscope.{kind}s"


class Registry(Generic[T]):
    """Names and what they stand for.

    A package adds its own by declaring an entry point in the registry's group, e.g.::

        [project.entry-points."headscope.measures"]
        my_measure = "my_package.my_module:MyMeasure"
    """

    def __init__(self, kind: str, *, home: str | None = None) -> None:
        """`home` is the module that registers the built-in ones, loaded when one is first asked for."""
        self.kind = kind
        self.home = home
        self.group = _group(kind)
        self._found: dict[str, T] = {}
        self._entry_points_loaded = False

    def register(self, *names: str) -> Callable[[T], T]:
        """Decorator: the decorated thing is known by these names from now on."""

        def add(thing: T) -> T:
            for name in names:
                own = getattr(thing, "name", name)
                if own != name:
                    raise OptionError(
                        f"the {self.kind} registered as {name!r} calls itself {own!r}; use one name"
                    )
                if self._found.setdefault(name, thing) is not thing:
                    raise OptionError(f"two {self.kind}s are called {name!r}; rename one of them")
            return thing

        return add

    def names(self) -> list[str]:
        """Every known name, in the order of registration."""
        self._load_entry_points()
        return list(self._found)

    def get(self, name: str) -> T:
        """What `name` stands for, or an error that lists the known names."""
        self._load_entry_points()
        if name not in self._found:
            raise no_such(self.kind, name, self._found)
        return self._found[name]

    def find(self, name: str) -> T | None:
        """What `name` stands for, or None."""
        self._load_entry_points()
        return self._found.get(name)

    def _load_entry_points(self) -> None:
        if self._entry_points_loaded:
            return
        if self.home is not None:
            import_module(self.home)
        for point in entry_points(group=self.group):
            try:
                thing = point.load()
            except Exception as error:
                source = point.dist.name if point.dist else point.value
                raise OptionError(
                    f"the {self.kind} {point.name!r} of the installed package {source} cannot be loaded "
                    f"({type(error).__name__}: {error}); repair or uninstall that package"
                ) from error
            self.register(point.name)(thing)
        self._entry_points_loaded = True
