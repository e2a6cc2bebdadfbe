"""Who speaks as whom, in which place: as many places as can be filled, in any order of decisions.

A maximum flow from speakers through people to places, in which no one and nothing is used twice.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

_Node = tuple[Literal["speaker", "person", "voice", "place"], int]
_Ways = dict[_Node, list[_Node]]


def matched(
    may_be: Sequence[Sequence[int]], may_fill: Sequence[Sequence[int]]
) -> Mapping[int, tuple[int, int]]:
    """For each place that is filled, its speaker and the person whom they speak as.

    `may_be` has the people of each speaker, `may_fill` the places of each person.
    """
    ways: _Ways = {}
    for speaker, people in enumerate(may_be):
        ways["speaker", speaker] = [("person", person) for person in people]
    for person, places in enumerate(may_fill):
        ways["person", person] = [("voice", person)]  # the one way through each person
        ways["voice", person] = [("place", place) for place in places]
        ways |= {("place", place): [] for place in places}
    for speaker in range(len(may_be)):
        for here, there in pairwise(_way(("speaker", speaker), ways, set())):
            ways[here].remove(there)
            ways[there].append(here)  # the way back, for those who come later
    return {
        place: (ways["person", person][0][1], person)
        for (kind, place), back in ways.items()
        if kind == "place"
        for _, person in back
    }


def _way(here: _Node, ways: _Ways, seen: set[_Node]) -> list[_Node]:
    """The way to a place that is free, where others may have to make room; empty if there is none."""
    seen.add(here)
    if here[0] == "place" and not ways[here]:
        return [here]
    found = (_way(there, ways, seen) for there in ways[here] if there not in seen)
    return next(([here, *way] for way in found if way), [])
