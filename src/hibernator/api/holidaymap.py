"""ConfigMaps as far as all of them must be watched: which there are, and in which version.

What is in them is read only where a schedule names one. Even the metadata is cut down: an annotation may hold
as much as the data.
"""

import msgspec

from hibernator.api.kind import Kind
from hibernator.api.meta import Object, ObjectMeta


class HolidayMap(Object):
    """A ConfigMap that may hold holidays."""

    def __post_init__(self) -> None:
        full = self.metadata
        kept = ObjectMeta(
            name=full.name,
            namespace=full.namespace,
            uid=full.uid,
            resource_version=full.resource_version,
        )
        msgspec.structs.force_setattr(self, "metadata", kept)


HOLIDAY_MAPS = Kind(HolidayMap, "", "v1", "ConfigMap", "configmaps", partial=True)
