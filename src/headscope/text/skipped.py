"""What could not be used of a file, told by place and reason, while the rest still counts."""

from dataclasses import dataclass, field

from headscope.errors import TextError

SHOWN = 5
"""How many places a note names; the count is always complete."""


@dataclass
class Skipped:
    """A count of what was left out, and the first few places with their reasons."""

    kind: str
    """What is counted, in the plural: sentences, cases."""
    count: int = 0
    places: list[str] = field(default_factory=list)
    """`file:line: reason`, the first few."""

    def add(self, place: str, *, count: int = 1) -> None:
        """Count one more (or several at one place)."""
        self.count += count
        if len(self.places) < SHOWN:
            self.places.append(place)

    def empty(self) -> "Skipped":
        """The same kind, nothing left out."""
        return Skipped(self.kind)

    def merge(self, other: "Skipped") -> None:
        """Count all that `other` has counted."""
        self.count += other.count
        self.places = (self.places + other.places)[:SHOWN]

    def note(self) -> str | None:
        """One line for the user; None when nothing was left out."""
        if not self.count:
            return None
        kind = self.kind.removesuffix("s") if self.count == 1 else self.kind
        more = "; ..." if self.count > len(self.places) else ""
        return f"{self.count:,} {kind} skipped: {'; '.join(self.places)}{more}"

    def nothing_left(self, name: str, *, why: str) -> TextError:
        """The error for files of that `name` without anything to use; `why`, if nothing was skipped in them either."""
        if not self.count:
            return TextError(f"{name} {why}")
        return TextError(
            f"{name}: none of its {self.kind} can be used, {self.count:,} were skipped, the first is {self.places[0]}"
        )
