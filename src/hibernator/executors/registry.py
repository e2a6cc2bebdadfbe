"""Which executor works on which type of target."""

from collections.abc import Mapping

from hibernator.executors.protocol import Executor, Permanent


class Registry:
    def __init__(self, executors: Mapping[str, Executor]) -> None:
        self._executors = dict(executors)

    def __getitem__(self, type_: str) -> Executor:
        try:
            return self._executors[type_]
        except KeyError:
            known = ", ".join(sorted(self._executors))
            raise Permanent(
                f"Targets of type {type_} are not known to this operator; it knows {known}."
            ) from None
