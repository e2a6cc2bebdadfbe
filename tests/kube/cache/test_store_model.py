"""In whatever order news comes, the store goes back only if the world does, and ends where the truth is."""

from dataclasses import dataclass, field

from hypothesis import given, strategies as st

from hibernator.api.core import CONFIG_MAPS, ConfigMap
from hibernator.kube.store import Key, Store, order
from kube.cache.stored import by_owner, config_map, contents, page, rewound, short


@dataclass
class World:
    """An API server's history, a watch that lags behind it, and answers to our own writes on their way."""

    store: Store[ConfigMap] = field(default_factory=lambda: Store(CONFIG_MAPS))
    version: int = 1
    truth: dict[str, ConfigMap] = field(default_factory=dict)
    snapshots: list[tuple[int, dict[str, ConfigMap]]] = field(default_factory=list)
    stream: list[tuple[bool, ConfigMap]] = field(default_factory=list)  # what the watch has yet to tell
    past: list[tuple[bool, ConfigMap]] = field(default_factory=list)
    answers: list[ConfigMap] = field(default_factory=list)
    known: dict[Key, ConfigMap] = field(default_factory=dict)
    wrong: list[tuple[str, str]] = field(default_factory=list)
    answered: dict[str, int] = field(default_factory=dict)  # the version of our last write by name
    deletions: list[tuple[str, int]] = field(default_factory=list)
    went_back: bool = False  # since the last list
    rewinds: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store.index("owner", by_owner)
        self.store.on_change(self.heard)
        self.rewinds = rewound(self.store)
        self.relist()

    def heard(self, old: ConfigMap | None, new: ConfigMap | None) -> None:
        """Changes join up without a gap and go forward only; an assertion here would be contained."""
        obj = new or old
        key = ("team", obj.metadata.name) if obj else ("", "")
        joined = self.known.get(key) == old
        forward = (
            self.went_back
            or old is None
            or new is None
            or (
                old.metadata.uid == new.metadata.uid
                and order(new.metadata.resource_version) > order(old.metadata.resource_version)
            )
        )
        if not (joined and forward):
            self.wrong.append((short(old), short(new)))
        if new is None:
            self.known.pop(key, None)
        else:
            self.known[key] = new

    def change(self, name: str, owner: str, *, ours: bool, delete: bool) -> None:
        self.version += 1
        old = self.truth.get(name)
        if delete:
            if old is not None:
                del self.truth[name]
                self.deletions.append((name, self.version))
                self.stream.append((True, config_map(name, self.version, old.metadata.uid)))
            return
        uid = old.metadata.uid if old else str(self.version)
        new = self.truth[name] = config_map(name, self.version, uid, owner)
        self.stream.append((False, new))
        if ours:
            self.answers.append(new)

    def deliver(self) -> None:
        if self.stream and not self.went_back:
            event = self.stream.pop(0)
            self.past.append(event)
            self.tell(event)

    def tell(self, event: tuple[bool, ConfigMap]) -> None:
        deleted, obj = event
        if deleted:
            self.store.saw_deletion(("team", obj.metadata.name), order(obj.metadata.resource_version))
        else:
            self.store.saw(obj)

    def replay(self, which: int) -> None:
        """An event from before comes once more."""
        if self.past and not self.went_back:
            self.tell(self.past[which % len(self.past)])

    def answer(self, which: int) -> None:
        """One of our writes is answered, however late: from now on we must not see anything older."""
        if self.answers:
            mine = self.answers.pop(which % len(self.answers))
            self.store.wrote(mine)
            name, version = mine.metadata.name, order(mine.metadata.resource_version)
            self.answered[name] = max(version, self.answered.get(name, 0))

    def check(self) -> None:
        """Nothing is older than our own last write to it; and what is gone was deleted after that.

        Between a restore and the list that shows it nobody can know.
        """
        if self.went_back:
            return
        for name, version in self.answered.items():
            seen = self.store.get("team", name)
            if seen is None:
                assert any(version < at <= self.store.seen for who, at in self.deletions if who == name)
            else:
                assert order(seen.metadata.resource_version) >= version

    def snapshot(self) -> None:
        self.snapshots.append((self.version, dict(self.truth)))

    def relist(self) -> None:
        """A list of the present; what the watch had yet to tell up to here is skipped."""
        self.snapshot()
        impossible = self.impossible()
        insists = self.version < self.store.newest  # which a list shows only of a world that went back
        before = len(self.rewinds)
        assert not insists or self.went_back
        assert self.store.replace(page(*self.truth.values()), self.version, rewound=insists)
        assert len(self.rewinds) - before == (1 if impossible and not insists else 0)
        assert self.went_back or not impossible
        self.past += self.stream
        self.stream.clear()
        self.went_back = False

    def impossible(self) -> bool:
        """Whether the list shows an object as it was before, although it is newer than what is known."""
        return any(
            self.version >= order(known.metadata.resource_version) > order(listed.metadata.resource_version)
            for name, listed in self.truth.items()
            if (known := self.store.get("team", name))
        )

    def relist_late(self, which: int) -> None:
        """A list that was taken a while ago, or by an API server that lags behind."""
        if self.went_back:
            return
        version, objects = self.snapshots[which % len(self.snapshots)]
        old = version < self.store.seen  # it may have been begun before our last write was answered
        taken = self.store.replace(page(*objects.values()), version)
        assert taken != old
        if taken:
            self.stream = [each for each in self.stream if order(each[1].metadata.resource_version) > version]

    def restore(self, which: int, bump: int) -> None:
        """The etcd is restored from a backup, perhaps with bumped revisions; no watch survives that.

        Neither do answers that are under way: the API server is down in between, for seconds.
        """
        version, objects = self.snapshots[which % len(self.snapshots)]
        self.version = self.version + bump if bump else version
        self.truth = dict(objects)
        self.snapshots = [one for one in self.snapshots if one[0] <= version]
        for forgotten in (self.stream, self.past, self.answers, self.answered, self.deletions):
            forgotten.clear()
        self.went_back = True

    def end(self) -> None:
        if self.went_back:
            self.relist()
        while self.stream:
            self.deliver()
        while self.answers:
            self.answer(0)
        assert contents(self.store) == {short(obj) for obj in self.truth.values()}
        assert {short(obj) for obj in self.known.values()} == contents(self.store)
        assert self.wrong == []
        for owner in ("ann", "bob"):
            expected = {short(obj) for obj in self.truth.values() if owner in by_owner(obj)}
            assert {short(obj) for obj in self.store.find("owner", owner)} == expected


_STEPS = st.one_of(
    st.tuples(
        st.just("change"),
        st.sampled_from("abc"),
        st.sampled_from(["", "ann", "bob", "ann bob"]),
        st.booleans(),
        st.sampled_from([False, False, True]),
    ),
    st.tuples(st.sampled_from(["deliver", "deliver", "snapshot", "relist"])),
    st.tuples(st.sampled_from(["replay", "answer", "relist_late"]), st.integers(0, 50)),
    st.tuples(st.just("restore"), st.integers(0, 50), st.sampled_from([0, 1, 1000])),
)


@given(st.lists(_STEPS, max_size=60))
def test_in_whatever_order_news_comes_the_store_goes_forward_and_ends_at_the_truth(
    steps: list[tuple[str | int | bool, ...]],
) -> None:
    world = World()
    for step in steps:
        match step:
            case ("change", str(name), str(owner), bool(ours), bool(delete)):
                world.change(name, owner, ours=ours, delete=delete)
            case ("restore", int(which), int(bump)):
                world.restore(which, bump)
            case ("replay" | "answer" | "relist_late" as what, int(which)):
                getattr(world, what)(which)
            case (str(what),):
                getattr(world, what)()
        world.check()
    world.end()
