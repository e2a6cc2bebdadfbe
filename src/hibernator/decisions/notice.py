"""A Kubernetes Event, as a decision words it: the reason is one of those that its kind has."""

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

R = TypeVar("R", bound=str)


@dataclass(frozen=True, slots=True)
class Notice(Generic[R]):
    type: Literal["Normal", "Warning"]
    reason: R
    message: str
