"""What happened to an object, in its own status, until the audit trail has it for good.

The change and its entry are one write, so that neither is ever there without the other: whoever looks next,
after a crash or an hour without a database, finds what is still to be told.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

import msgspec

from hibernator.api.meta import Model, says

MOST_UNTOLD = 500  # some 75 kB; only an object that changes that often while the database is away gets there


class Transition(Model):
    number: Annotated[int, says("Counts the transitions of this object; it names this one for ever.")]
    type: Annotated[str, says("What happened, as the audit trail calls it.", maxLength=64)]
    at: Annotated[datetime, says("When.")]
    message: Annotated[str, says("What happened, in words.", maxLength=4096)] = ""
    data: Annotated[Mapping[str, int | str], says("What belongs to it, by name.")] = msgspec.field(
        default_factory=dict
    )


Journal = Annotated[
    tuple[Transition, ...],
    says(
        "What happened last, and all that the audit trail does not have yet.",
        maxItems=MOST_UNTOLD,
        x_kubernetes_list_type="map",
        x_kubernetes_list_map_keys=["number"],
    ),
]
