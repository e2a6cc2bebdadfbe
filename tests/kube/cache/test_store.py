"""Whatever overtakes whatever, the store never goes back, case by case."""

from typing import NoReturn

import pytest
from msgspec.structs import replace

from hibernator.api import conversion
from hibernator.api.annotations import READ
from hibernator.api.core import CONFIG_MAPS, ConfigMap
from hibernator.decisions import (
    hibernateplan_case,
    journal,
    planrequest,
    scaler_mark,
    scaling,
    scheduleexception_request as request,
    sleepmark,
    staying,
)
from hibernator.kube.store import Store
from hibernator.kube.wire import Broken
from kube.cache.stored import by_owner, config_map, contents, page, rewound, short, told


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


def test_a_list_is_the_truth_of_its_version_also_where_it_shows_an_object_as_it_was_before() -> None:
    store = Store(CONFIG_MAPS)
    store.replace(page(config_map("a", 30), config_map("b", 31)), 40)
    heard, rewinds = told(store), rewound(store)
    store.replace(page(config_map("a", 3), config_map("c", 4)), 1_000_040)  # restored with bumped revisions
    assert contents(store) == {"a1@3", "c1@4"}
    assert heard == [("b1@31", ""), ("a1@30", "a1@3"), ("", "c1@4")]
    assert rewinds == ["rewind"]


def test_an_older_object_of_another_uid_proves_as_well_that_the_api_server_was_set_back() -> None:
    store = Store(CONFIG_MAPS)
    store.replace(page(config_map("a", 30, uid="2")), 40)
    rewinds = rewound(store)
    store.replace(page(config_map("a", 3, uid="1")), 50)
    assert contents(store) == {"a1@3"}
    assert rewinds == ["rewind"]


def test_whoever_knows_that_the_api_server_was_set_back_is_not_called_again() -> None:
    store = Store(CONFIG_MAPS)
    store.replace(page(config_map("a", 30)), 40)
    rewinds = rewound(store)
    store.replace(page(config_map("a", 3)), 50, rewound=True)
    assert rewinds == []


def test_those_who_drop_what_they_remember_hear_of_a_rewind_before_anybody_hears_of_changes() -> None:
    store = Store(CONFIG_MAPS)
    store.replace(page(config_map("a", 30)), 40)
    order: list[str] = []
    store.on_change(lambda _old, _new: order.append("change"))
    store.on_rewind(lambda: order.append("rewind"))
    store.replace(page(config_map("a", 3)), 50)
    assert order == ["rewind", "change"]


def test_only_what_is_newer_than_the_list_itself_is_kept_over_it() -> None:
    store = Store(CONFIG_MAPS)
    store.replace(page(config_map("a", 3), config_map("b", 4)), 9)
    rewinds = rewound(store)
    store.wrote(config_map("a", 12))
    store.wrote(config_map("new", 14))
    store.replace(page(config_map("a", 3), config_map("b", 4)), 11)
    assert contents(store) == {"a1@12", "b1@4", "new1@14"}
    assert rewinds == []


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


def test_a_deletion_after_our_write_that_no_one_saw_is_found_by_the_next_list() -> None:
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


def test_an_index_finds_what_its_function_says() -> None:
    store = Store(CONFIG_MAPS)
    store.index("owner", by_owner)
    store.replace(page(config_map("a", 3, owner="ann bob"), config_map("b", 4, owner="ann")), 9)
    assert [obj.metadata.name for obj in store.find("owner", "ann")] == ["a", "b"]
    store.saw(config_map("a", 10, owner="bob eve"))
    store.saw_deletion(("team", "b"), 11)
    assert store.find("owner", "ann") == ()
    assert [short(obj) for obj in store.find("owner", "bob")] == ["a1@10"]


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


def test_a_handler_or_an_index_that_fails_harms_no_one_else() -> None:
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


def annotated(version: int) -> ConfigMap:
    plain = config_map("a", version)
    annotations = {
        hibernateplan_case.RETRY: "now",
        "kubectl.kubernetes.io/last-applied-configuration": "x" * 1000,
    }
    return replace(plain, metadata=replace(plain.metadata, annotations=annotations))


@pytest.mark.parametrize("news", ["list", "watch", "write"])
def test_annotations_that_no_controller_reads_are_not_kept(news: str) -> None:
    store = Store(CONFIG_MAPS)
    if news == "list":
        store.replace(page(annotated(3)), 9)
    elif news == "watch":
        store.saw(annotated(3))
    else:
        store.wrote(annotated(3))
    kept = store.get("team", "a")
    assert kept is not None
    assert kept.metadata.annotations == {hibernateplan_case.RETRY: "now"}
    heard = told(store)
    store.replace(page(annotated(3)), 9)
    assert heard == []


def test_all_annotations_that_controllers_read_are_kept() -> None:
    assert {
        *(journal.CHANGED_BY, journal.RETRIED_BY, hibernateplan_case.RETRY, hibernateplan_case.LEAVE_ASLEEP),
        planrequest.CARRIED_OUT,
        *(request.REQUESTED_BY, request.REQUESTER_CLAIMS, request.REQUESTER_GROUPS),
        *(staying.EXCLUDE, staying.FORCE_AWAKE),
        *(sleepmark.MARK, sleepmark.TRACE, scaling.KEDA_PAUSED_REPLICAS),
        *(scaler_mark.BEFORE, scaler_mark.ANNOTATION, conversion.ANNOTATION),
    } == READ
