"""In whatever order news comes, the store never goes back, and ends where the truth is."""

from dataclasses import dataclass, field

from hypothesis import given, strategies as st

from hibernator.api.core import CONFIG_MAPS, ConfigMap
from hibernator.kube.store import Key, Store, order
from kube.cache.stored import by_owner, config_map, contents, page, short


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

    def __post_init__(self) -> None:
        self.store.index("owner", by_owner)
        self.store.on_change(self.heard)
        self.relist()

    def heard(self, old: ConfigMap | None, new: ConfigMap | None) -> None:
        """Changes join up without a gap and go forward only; an assertion here would be contained."""
        obj = new or old
        key = ("team", obj.metadata.name) if obj else ("", "")
        joined = self.known.get(key) == old
        forward = (
            old is None
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
        if self.stream:
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
        if self.past:
            self.tell(self.past[which % len(self.past)])

    def answer(self, which: int) -> None:
        """One of our writes is answered, however late: from now on we must not see anything older."""
        if self.answers:
            mine = self.answers.pop(which % len(self.answers))
            self.store.wrote(mine)
            name, version = mine.metadata.name, order(mine.metadata.resource_version)
            self.answered[name] = max(version, self.answered.get(name, 0))

    def check(self) -> None:
        """Nothing is older than our own last write to it; and what is gone was deleted after that."""
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
        assert self.store.replace(page(*self.truth.values()), self.version)
        self.past += self.stream
        self.stream.clear()

    def relist_late(self, which: int) -> None:
        """A list that was taken a while ago, or by an API server that lags behind."""
        version, objects = self.snapshots[which % len(self.snapshots)]
        old = version < self.store.seen
        taken = self.store.replace(page(*objects.values()), version)
        assert taken != old
        if taken:
            self.stream = [each for each in self.stream if order(each[1].metadata.resource_version) > version]

    def end(self) -> None:
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
            case ("replay" | "answer" | "relist_late" as what, int(which)):
                getattr(world, what)(which)
            case (str(what),):
                getattr(world, what)()
        world.check()
    world.end()
