"""What a row of the table is."""

from typing import NamedTuple

from api.objects import Json

START_IS_END = "Invalid window: start must not equal end"


class Good(NamedTuple):
    sentence: str
    document: Json


class Bad(NamedTuple):
    sentence: str
    document: Json
    kubectl: str  # what the API server says, in part
    path: str  # where the check without a cluster points
