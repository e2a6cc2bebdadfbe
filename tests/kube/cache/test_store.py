"""Whatever overtakes whatever, the store never goes back, and ends where the truth is."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NoReturn

import pytest
from hypothesis import given, strategies as st

from hibernator.api.core import CONFIG_MAPS, ConfigMap
from hibernator.api.meta import ObjectMeta
from hibernator.kube.store import Key, Store, order
from hibernator.kube.wire import Broken, Page


def config_map(name: str, version: int, uid: str = "1", owner: str = "") -> ConfigMap:
    meta = ObjectMeta(name=name, namespace="team", uid=uid, resource_version=str(version))
    return ConfigMap(metadata=meta, data={"owner": owner} if owner else {})


def page(*items: ConfigMap, broken: tuple[Broken, ...] = ()) -> list[Page[ConfigMap]]:
    return [Page(list(items), "", "", broken)]


def told(store: Store[ConfigMap]) -> list[tuple[str, str]]:
    """Write down what handlers hear, as `("a1@5", "a1@7")`: name, UID and version, before and after."""
    heard: list[tuple[str, str]] = []
    store.on_change(lambda old, new: heard.append((_short(old), _short(new))))
    return heard


def _short(obj: ConfigMap | None) -> str:
    if obj is None:
        return ""
    return f"{obj.metadata.name}{obj.metadata.uid}@{obj.metadata.resource_version}"


def contents(store: Store[ConfigMap]) -> set[str]:
    return {_short(obj) for obj in store.values()}


def test_a_list_says_what_there_is() -> None:
    store = Store(CONFIG_MAPS)
    heard = told(store)
    assert store.replace(page(config_map("a", 3), config_map("b", 5)), 9)
    assert contents(store) == {"a1@3", "b1@5"}
    assert heard == [("", "a1@3"), ("", "b1@5")]
    assert store.get("team", "a") == config_map("a", 3)
    assert store.get("team", "c") is None
    assert set(store.keys()) == {("team", "a"), ("team", "b")}
    assert len(store) == 2


def test_a_second_list_tells_only_what_is_different() -> None:
    store = Store(CONFIG_MAPS)
    store.replace(page(config_map("a", 3), config_map("b", 5), config_map("c", 6)), 9)
    heard = told(store)
    store.replace(page(config_map("a", 3), config_map("b", 11), config_map("d", 12)), 15)
    assert heard == [("c1@6", ""), ("b1@5", "b1@11"), ("", "d1@12")]


def test_an_object_made_anew_under_the_same_name_is_a_deletion_and_an_addition() -> None:
    for news in ("list", "watch", "write"):
        store = Store(CONFIG_MAPS)
        store.replace(page(config_map("a", 3, uid="1")), 9)
        heard = told(store)
        again = config_map("a", 12, uid="2")
        if news == "list":
            store.replace(page(again), 15)
        elif news == "watch":
            store.saw(again)
        else:
            store.wrote(again)
        assert heard == [("a1@3", ""), ("", "a2@12")], news


def test_an_old_list_changes_nothing() -> None:
    store = Store(CONFIG_MAPS)
    store.replace(page(config_map("a", 3), config_map("b", 4)), 9)
    store.saw(config_map("a", 10))
    store.saw_deletion(("team", "b"), 11)
    heard = told(store)
    assert not store.replace(page(config_map("a", 3), config_map("b", 4)), 9)
    assert contents(store) == {"a1@10"}
    assert heard == []


def test_an_old_list_is_taken_over_if_history_was_rewound() -> None:
    store = Store(CONFIG_MAPS)
    store.replace(page(config_map("a", 30), config_map("b", 31)), 40)
    assert store.replace(page(config_map("a", 3), config_map("c", 4)), 9, rewound=True)
    assert contents(store) == {"a1@3", "c1@4"}
    assert store.seen == 9


def test_our_own_write_is_seen_at_once_and_only_once() -> None:
    store = Store(CONFIG_MAPS)
    store.replace(page(config_map("a", 3)), 9)
    heard = told(store)
    store.wrote(config_map("a", 10))
    assert contents(store) == {"a1@10"}
    store.saw(config_map("a", 10))
    assert heard == [("a1@3", "a1@10")]


def test_neither_an_event_nor_a_list_from_before_our_write_takes_it_back() -> None:
    store = Store(CONFIG_MAPS)
    store.replace(page(config_map("a", 3)), 9)
    store.wrote(config_map("a", 12))
    store.wrote(config_map("new", 13))
    store.saw(config_map("a", 11))
    store.replace(page(config_map("a", 11)), 11)
    assert contents(store) == {"a1@12", "new1@13"}


def test_a_deletion_after_our_write_deletes() -> None:
    store = Store(CONFIG_MAPS)
    store.replace(page(config_map("a", 3)), 9)
    store.wrote(config_map("a", 12))
    store.saw_deletion(("team", "a"), 13)
    assert contents(store) == set()


def test_a_deletion_after_our_write_that_nobody_saw_is_found_by_the_next_list() -> None:
    store = Store(CONFIG_MAPS)
    store.replace(page(config_map("a", 3)), 9)
    store.wrote(config_map("a", 12))
    store.replace(page(), 20)
    assert contents(store) == set()


def test_an_answer_that_comes_after_the_news_of_the_deletion_raises_no_ghost() -> None:
    store = Store(CONFIG_MAPS)
    store.replace(page(config_map("a", 3)), 9)
    store.saw(config_map("a", 12))
    store.saw_deletion(("team", "a"), 13)
    store.wrote(config_map("a", 12))
    assert contents(store) == set()


def test_an_event_from_before_a_deletion_that_comes_once_more_raises_no_ghost() -> None:
    store = Store(CONFIG_MAPS)
    store.replace(page(), 9)
    store.saw(config_map("a", 12))
    store.saw_deletion(("team", "a"), 13)
    store.saw(config_map("a", 12))
    assert contents(store) == set()


def test_the_deletion_of_its_predecessor_does_not_take_what_we_made_since() -> None:
    store = Store(CONFIG_MAPS)
    store.replace(page(config_map("a", 3, uid="1")), 9)
    store.wrote(config_map("a", 12, uid="2"))
    store.saw_deletion(("team", "a"), 11)
    assert contents(store) == {"a2@12"}


def test_an_object_that_leaves_the_selection_at_our_own_write_leaves_the_store() -> None:
    store = Store(CONFIG_MAPS, everything=False)
    store.replace(page(config_map("a", 3)), 9)
    store.wrote(config_map("a", 12))
    store.saw_deletion(("team", "a"), 12)  # how the watch tells of it
    assert contents(store) == set()


def test_what_does_not_belong_to_the_selection_does_not_come_in_by_a_write() -> None:
    selected = Store(CONFIG_MAPS, everything=False)
    selected.wrote(config_map("a", 12))
    elsewhere = Store(CONFIG_MAPS, namespace="other")
    elsewhere.wrote(config_map("a", 12))
    assert contents(selected) == contents(elsewhere) == set()


def test_a_bookmark_that_is_behind_is_told() -> None:
    store = Store(CONFIG_MAPS)
    store.replace(page(), 9)
    assert store.saw_nothing_until(12)
    assert not store.saw_nothing_until(11)
    assert store.seen == 12


def broken(name: str, version: int, why: str = "bad") -> Broken:
    return Broken("team", name, "1", str(version), why)


def test_an_object_that_turns_unreadable_leaves_the_store_and_is_listed_until_it_is_mended() -> None:
    store = Store(CONFIG_MAPS)
    store.replace(page(config_map("a", 3)), 9)
    heard = told(store)
    store.saw_broken(broken("a", 12))
    assert contents(store) == set()
    assert store.undecodable[("team", "a")].why == "bad"
    store.saw(config_map("a", 13))
    assert store.undecodable == {}
    assert heard == [("a1@3", ""), ("", "a1@13")]


def test_an_unreadable_object_that_is_deleted_is_no_longer_listed() -> None:
    store = Store(CONFIG_MAPS)
    store.replace(page(broken=(broken("a", 3), broken("b", 4))), 9)
    store.saw_deletion(("team", "a"), 12)
    assert list(store.undecodable) == [("team", "b")]
    store.replace(page(), 15)
    assert store.undecodable == {}


def test_an_object_of_which_not_even_the_name_can_be_read_is_reported_too() -> None:
    store = Store(CONFIG_MAPS)
    store.replace(page(), 9)
    store.saw_broken(Broken("", "", "", "", "hopeless"))
    assert [each.why for each in store.undecodable.values()] == ["hopeless"]


def by_owner(obj: ConfigMap) -> Iterable[str]:
    return obj.data.get("owner", "").split()


def test_an_index_finds_what_its_function_says() -> None:
    store = Store(CONFIG_MAPS)
    store.index("owner", by_owner)
    store.replace(page(config_map("a", 3, owner="ann bob"), config_map("b", 4, owner="ann")), 9)
    assert [obj.metadata.name for obj in store.find("owner", "ann")] == ["a", "b"]
    store.saw(config_map("a", 10, owner="bob eve"))
    store.saw_deletion(("team", "b"), 11)
    assert store.find("owner", "ann") == ()
    assert [_short(obj) for obj in store.find("owner", "bob")] == ["a1@10"]


def test_an_index_comes_before_the_objects() -> None:
    store = Store(CONFIG_MAPS)
    store.replace(page(config_map("a", 3)), 9)
    with pytest.raises(RuntimeError, match="too late"):
        store.index("owner", by_owner)


def test_a_handler_sees_everything_that_came_with_the_same_list() -> None:
    store = Store(CONFIG_MAPS)
    seen: list[int] = []
    store.on_change(lambda _old, _new: seen.append(len(store)))
    store.replace(page(config_map("a", 3), config_map("b", 4)), 9)
    assert seen == [2, 2]


def test_a_handler_or_an_index_that_fails_harms_nobody_else() -> None:
    store = Store(CONFIG_MAPS)

    def fail(*_: object) -> NoReturn:
        raise ZeroDivisionError

    store.index("bad", fail)
    store.index("owner", by_owner)
    store.on_change(fail)
    heard = told(store)
    store.replace(page(config_map("a", 3, owner="ann")), 9)
    store.saw_deletion(("team", "a"), 10)
    assert heard == [("", "a1@3"), ("a1@3", "")]
    assert store.find("bad", "x") == store.find("owner", "ann") == ()


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
            self.wrong.append((_short(old), _short(new)))
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
        assert contents(self.store) == {_short(obj) for obj in self.truth.values()}
        assert {_short(obj) for obj in self.known.values()} == contents(self.store)
        assert self.wrong == []
        for owner in ("ann", "bob"):
            expected = {_short(obj) for obj in self.truth.values() if owner in by_owner(obj)}
            assert {_short(obj) for obj in self.store.find("owner", owner)} == expected


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
