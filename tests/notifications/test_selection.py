"""Which events a HibernateNotification is about."""

import pytest

from hibernator.api.hibernatenotification import NOTIFICATIONS
from hibernator.api.hibernateplan import PLANS
from hibernator.api.scheduleexception import EXCEPTIONS
from hibernator.audit.event import Resource, event
from support.notifying import Scene, Sink, cycles


async def test_what_is_asked_for_later_is_not_sent_in_retrospect(scene: Scene, sink: Sink) -> None:
    await scene.notification({"url": sink.url}, onEvents=["Failure"])
    await scene.look()
    await scene.happens(*(scene.slept(number) for number in range(1, 5)))
    await scene.look_until_done()
    more = {"spec": {"onEvents": ["Failure", "Start"]}}
    changed = await scene.client.patch(NOTIFICATIONS, "on-call", scene.namespace, more, resource_version=None)
    scene.notifier.cache.wrote(changed)
    await scene.happens(scene.slept(5))
    await scene.look_until_done()
    assert [cycles(one) for one in sink.got] == [[5]]


async def test_only_events_of_selected_plans_are_sent_and_the_status_names_them(
    scene: Scene, sink: Sink
) -> None:
    await scene.plan("shop", team="a")
    await scene.plan("bank", team="b")
    await scene.notification({"url": sink.url}, selector={"matchLabels": {"team": "a"}})
    await scene.look()
    await scene.happens(scene.slept(1), scene.slept(1, name="bank"))
    await scene.look_until_done()
    assert [one["subject"] for one in sink.got] == [f"HibernatePlan {scene.namespace}/shop"]
    found = scene.notifier.cache.get(scene.namespace, "on-call")
    assert found
    assert found.status.state == "Bound"
    assert [plan.name for plan in found.status.watched_plans] == ["shop"]
    assert scene.ready()[:2] == ("True", "Delivering")


async def test_a_look_goes_through_the_objects_of_its_own_namespace_only(
    scene: Scene, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be hundreds of them, and thousands of plans; each looks whenever the trail has grown."""
    await scene.plan("shop")
    await scene.notification({"url": sink.url}, kinds=["HibernatePlan", "TimeWindowScaler"])
    objects = scene.notifier.objects
    for cache in (objects.plans, objects.scalers, objects.exceptions):
        monkeypatch.setattr(cache, "values", lambda: pytest.fail("all of the cluster"))
    await scene.look()
    await scene.happens(scene.slept(1))
    await scene.look_until_done()
    assert [cycles(one) for one in sink.got] == [[1]]


async def test_what_the_original_wrote_into_a_status_is_read_and_replaced(scene: Scene, sink: Sink) -> None:
    await scene.plan("shop")
    await scene.notification({"url": sink.url})
    its_own = {
        "state": "Bound",
        "watchedPlans": [{"name": "shop"}],
        "sinkStatuses": [{"name": "out", "success": True, "transitionTimestamp": "2026-03-01T20:00:00Z"}],
    }
    status = {"status": its_own}
    given = NOTIFICATIONS, "on-call", scene.namespace, status
    await scene.client.patch(*given, resource_version=None, subresource="status")
    found = await scene.client.get(NOTIFICATIONS, "on-call", scene.namespace)
    scene.notifier.cache.wrote(found)
    await scene.look()
    await scene.happens(scene.slept(1))
    await scene.look_until_done()
    assert [cycles(one) for one in sink.got] == [[1]]
    found = await scene.client.get(NOTIFICATIONS, "on-call", scene.namespace)
    assert [(one.name, one.namespace) for one in found.status.watched_plans] == [("shop", scene.namespace)]


async def test_the_last_words_of_a_deleted_plan_and_its_exception_are_sent(scene: Scene, sink: Sink) -> None:
    await scene.plan("shop", team="a")
    await scene.exception("party", until=scene.clock.now().add(hours=5))
    await scene.notification(
        {"url": sink.url},
        selector={"matchLabels": {"team": "a"}},
        onEvents=["Success", "ExceptionDecided"],
    )
    await scene.look()
    sink.away = True
    await scene.happens(scene.slept(1, "wake.completed"), scene.decided("party"))
    await scene.look()
    await scene.gone(scene.notifier.objects.plans, PLANS, "shop")
    await scene.gone(scene.notifier.objects.exceptions, EXCEPTIONS, "party")
    await scene.look()
    sink.away = False
    await scene.clock.advance(3600)
    await scene.look_until_done()
    assert [(one["data"]["name"], one["data"]["plan"]) for one in sink.got] == [
        ("shop", "shop"),
        ("party", "shop"),
    ]


async def test_in_the_namespace_of_the_operator_other_namespaces_can_be_chosen_and_nowhere_else(
    scene: Scene, sink: Sink
) -> None:
    other, third = scene.cluster.create_namespace(), scene.cluster.create_namespace()
    chosen = {"matchLabels": {"kubernetes.io/metadata.name": other}}
    await scene.notification({"url": sink.url}, namespaceSelector=chosen)
    await scene.look()
    await scene.happens(*(scene.slept(1, namespace=place) for place in (scene.namespace, other, third)))
    await scene.look_until_done()
    assert [one["data"]["namespace"] for one in sink.got] == [scene.namespace]
    status, reason, message = scene.ready()
    assert (status, reason) == ("False", "NamespaceSelectorRefused")
    assert "only in the namespace hibernator-system" in message
    scene.notifier.home = scene.namespace
    await scene.happens(*(scene.slept(2, namespace=place) for place in (scene.namespace, other, third)))
    await scene.look_until_done()
    assert [one["data"]["namespace"] for one in sink.got[1:]] == [other]
    assert scene.ready()[0] == "True"


@pytest.mark.parametrize(
    ("kind", "type_", "wanted", "command"),
    [
        ("TimeWindowScaler", "degraded", "Failure", "hibernator scaler describe shop -n"),
        ("TimeWindowScaler", "scaled", "Success", ""),
        (
            "RemediationApprovalRequest",
            "created",
            "ApprovalWaiting",
            "hibernator remediation approve shop -n",
        ),
    ],
)
async def test_scalers_and_remediations_are_sent_where_kinds_names_them(
    scene: Scene, sink: Sink, kind: str, type_: str, wanted: str, command: str
) -> None:
    for name, kinds in (("plans", ["HibernatePlan"]), ("on-call", [kind])):
        await scene.notification({"url": sink.url}, name=name, kinds=kinds, onEvents=[wanted])
        await scene.look(name)
    about = Resource(group="g", kind=kind, namespace=scene.namespace, name="shop", uid="u")
    await scene.happens(event(f"{kind.lower()}.{type_}", about, at=scene.clock.now(), identity=(1,)))
    for name in ("plans", "on-call"):
        await scene.look_until_done(name)
    [got] = sink.got
    assert (got["data"]["event"], got["data"]["kind"]) == (wanted, kind)
    assert got["data"]["command"].startswith(command)
