"""What sleeps at a cloud carries its way back: in tags, in labels, or not at all."""

import pytest

from hibernator.executors.gcp.project import GcpProject
from hibernator.executors.protocol import Permanent, Retryable, Saved
from support.aws import BROKEN, AwsInTest, Fault
from support.cloud import awake, fall_asleep, job, wake_up
from support.cloud_scenes import CloudThing, elsewhere, furnish
from support.gcp import Google

AWS = ("ec2", "asg", "rds", "cluster", "eks")
OTHER = "99999999-0000-0000-0000-000000000000"


@pytest.fixture
def thing(request: pytest.FixtureRequest, aws: AwsInTest, google: Google, project: GcpProject) -> CloudThing:
    return furnish(request.param, aws, google, project)


marked = pytest.mark.parametrize("thing", [*AWS, "cloudsql"], indirect=True)
at_aws = pytest.mark.parametrize("thing", AWS, indirect=True)
everything = pytest.mark.parametrize("thing", [*AWS, "cloudsql", "gke"], indirect=True)


@marked
async def test_the_mark_alone_is_enough_to_wake_and_goes_with_the_waking(thing: CloudThing) -> None:
    work, before = job(thing.type, dict(thing.parameters), cycle=3), thing.look()
    (item,) = await fall_asleep(thing.executor, work)
    assert thing.look() != before
    (found,) = await thing.executor.asleep(work)
    assert (found.key, found.restore, found.asleep) == (item.key, item.restore, True)
    await thing.executor.wake(work, Saved(key=found.key, restore=found.restore or {}))
    assert thing.look() == before
    assert thing.marks() == {}
    assert await thing.executor.asleep(work) == ()


@marked
async def test_of_an_own_sleeper_it_is_found_what_it_was(thing: CloudThing) -> None:
    work = job(thing.type, dict(thing.parameters))
    (before,) = await thing.executor.discover(work)
    await fall_asleep(thing.executor, work)
    (found,) = await thing.executor.discover(work)
    assert (found.restore, found.asleep) == (before.restore, True)


@marked
async def test_what_sleeps_for_another_plan_is_left_to_it(thing: CloudThing) -> None:
    work, before = job(thing.type, dict(thing.parameters)), thing.look()
    other = job(thing.type, dict(thing.parameters), plan="others", uid=OTHER)
    (item,) = await fall_asleep(thing.executor, work)
    asleep, marks = thing.look(), thing.marks()
    (found,) = await thing.executor.discover(other)
    assert (found.restore, found.note) == (None, "put to sleep by team/nights")
    assert await thing.executor.asleep(other) == ()
    await thing.executor.sleep(other, item)
    await thing.executor.wake(other, item)
    assert (thing.look(), thing.marks()) == (asleep, marks)
    await thing.executor.wake(work, item)
    assert thing.look() == before


@marked
async def test_a_plan_of_the_same_name_in_another_cluster_looks_for_its_own_sleepers_only(
    thing: CloudThing,
) -> None:
    work = job(thing.type, dict(thing.parameters))
    renewed = job(thing.type, dict(thing.parameters), uid=OTHER)
    (item,) = await fall_asleep(thing.executor, work)
    assert await thing.executor.asleep(renewed) == ()
    (found,) = await thing.executor.discover(renewed)  # what it covers it goes on with
    assert (found.restore, found.asleep) == (item.restore, True)


@marked
async def test_what_any_plan_of_the_cluster_has_put_to_sleep_is_found_by_the_id_of_the_cluster(
    thing: CloudThing, aws: AwsInTest, project: GcpProject
) -> None:
    work, before = job(thing.type, dict(thing.parameters)), thing.look()
    (item,) = await fall_asleep(thing.executor, work)
    (found,) = await thing.executor.asleep_for_cluster(job(thing.type, dict(thing.parameters), uid=OTHER))
    assert (found.item.key, found.item.restore, found.asleep) == (item.key, item.restore, True)
    assert (found.mark.plan, found.mark.uid, found.mark.target) == (work.owner, work.uid, "it")
    for other in (OTHER, ""):  # another cluster, and one that may not know what it is called
        assert await elsewhere(thing, aws, project, other).asleep_for_cluster(work) == ()
    await thing.executor.wake(work, item)
    assert (thing.look(), thing.marks()) == (before, {})


@at_aws
async def test_a_tag_that_stayed_on_something_that_is_awake_is_not_taken_for_sleep(
    thing: CloudThing, aws: AwsInTest
) -> None:
    work = job(thing.type, dict(thing.parameters))
    (item,) = await awake(thing.executor, work)
    aws.proxy.fail(thing.sleeps_by, BROKEN)
    with pytest.raises(Retryable):
        await thing.executor.sleep(work, item)
    assert [one.asleep for one in await thing.executor.asleep_for_cluster(work)] == [False]


@marked
async def test_without_an_id_of_the_cluster_and_by_earlier_versions_the_mark_names_none(
    thing: CloudThing, aws: AwsInTest, project: GcpProject
) -> None:
    work, before = job(thing.type, dict(thing.parameters)), thing.look()
    earlier = elsewhere(thing, aws, project, "")
    (item,) = await fall_asleep(earlier, work)
    assert await thing.executor.asleep_for_cluster(work) == ()
    assert [one.key for one in await thing.executor.asleep(work)] == [item.key]
    await thing.executor.wake(work, item)
    assert (thing.look(), thing.marks()) == (before, {})


@everything
async def test_forged_restore_data_wakes_nothing_that_others_have_put_to_sleep(
    thing: CloudThing, aws: AwsInTest, google: Google
) -> None:
    work = job(thing.type, dict(thing.parameters))
    (item,) = await awake(thing.executor, work)
    thing.stop()
    asleep = thing.look()
    with pytest.raises(Permanent, match="bears no mark of this plan"):
        await thing.executor.wake(work, Saved(key=item.key, restore=item.restore, covered=False))
    assert thing.look() == asleep
    assert aws.proxy.changes() + google.changes() == []


@marked
async def test_what_the_plan_has_put_to_sleep_is_woken_also_where_it_covers_it_no_more(
    thing: CloudThing,
) -> None:
    work, before = job(thing.type, dict(thing.parameters)), thing.look()
    (item,) = await fall_asleep(thing.executor, work)
    await thing.executor.wake(work, Saved(key=item.key, restore=item.restore, covered=False))
    assert thing.look() == before


@at_aws
@pytest.mark.parametrize("code", ["AccessDenied", "TagLimitExceeded"])
async def test_without_the_right_to_tag_everything_sleeps_and_wakes_all_the_same(
    thing: CloudThing, aws: AwsInTest, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    work, before = job(thing.type, dict(thing.parameters)), thing.look()
    aws.proxy.fail(thing.tags_by, Fault(403, code, "not you"))
    items = await fall_asleep(thing.executor, work)
    assert thing.look() != before
    assert thing.marks() == {}
    assert "restore data is the only copy" in capsys.readouterr().out
    await wake_up(thing.executor, work, items)
    assert thing.look() == before


@pytest.mark.parametrize("thing", ["cloudsql"], indirect=True)
async def test_a_database_with_too_many_labels_sleeps_without_a_mark(
    thing: CloudThing, google: Google
) -> None:
    google.databases["orders"]["settings"]["userLabels"] = {f"l{number}": "x" for number in range(50)}
    work, before = job(thing.type, dict(thing.parameters)), thing.look()
    items = await fall_asleep(thing.executor, work)
    assert (thing.look(), thing.marks()) == ("NEVER", {})
    await wake_up(thing.executor, work, items)
    assert thing.look() == before


@pytest.mark.parametrize("thing", ["cloudsql"], indirect=True)
async def test_labels_of_others_stay(thing: CloudThing, google: Google) -> None:
    settings = google.databases["orders"]["settings"]
    settings["userLabels"] = {"team": "web"}
    work = job(thing.type, dict(thing.parameters))
    items = await fall_asleep(thing.executor, work)
    assert google.databases["orders"]["settings"]["userLabels"]["team"] == "web"
    await wake_up(thing.executor, work, items)
    assert google.databases["orders"]["settings"]["userLabels"] == {"team": "web"}


@at_aws
async def test_a_mark_on_something_that_did_not_fall_asleep_goes_and_nothing_is_started(
    thing: CloudThing, aws: AwsInTest
) -> None:
    work, before = job(thing.type, dict(thing.parameters)), thing.look()
    (item,) = await awake(thing.executor, work)
    aws.proxy.fail(thing.sleeps_by, BROKEN)
    with pytest.raises(Retryable):
        await thing.executor.sleep(work, item)
    assert thing.marks() != {}
    assert [found.key for found in await thing.executor.asleep(work)] == [item.key]
    await thing.executor.wake(work, item)
    assert (thing.look(), thing.marks()) == (before, {})
    assert aws.proxy.changes() == [thing.tags_by, thing.sleeps_by, thing.untags_by]


@at_aws
async def test_a_tag_that_cannot_be_removed_at_once_costs_nothing_and_goes_at_the_next_look(
    thing: CloudThing, aws: AwsInTest
) -> None:
    work, before = job(thing.type, dict(thing.parameters)), thing.look()
    (item,) = await fall_asleep(thing.executor, work)
    aws.proxy.fail(thing.untags_by, BROKEN)
    await thing.executor.wake(work, item)
    assert thing.look() == before
    assert thing.marks() != {}
    await thing.executor.wake(work, item)
    assert thing.marks() == {}


@at_aws
async def test_the_tag_comes_before_the_sleep(thing: CloudThing, aws: AwsInTest) -> None:
    work, before = job(thing.type, dict(thing.parameters)), thing.look()
    (item,) = await awake(thing.executor, work)
    aws.proxy.fail(thing.tags_by, BROKEN)
    with pytest.raises(Retryable):
        await thing.executor.sleep(work, item)
    assert thing.look() == before


@at_aws
async def test_what_an_earlier_version_has_put_to_sleep_gets_its_mark(thing: CloudThing) -> None:
    work = job(thing.type, dict(thing.parameters))
    (item,) = await awake(thing.executor, work)
    thing.stop()
    await thing.executor.sleep(work, item)
    (found,) = await thing.executor.asleep(work)
    assert found.restore == item.restore


@pytest.mark.parametrize("thing", ["ec2", "rds", "eks", "asg", "cloudsql"], indirect=True)
async def test_a_change_that_was_sent_may_still_come_for_five_minutes(thing: CloudThing) -> None:
    assert thing.executor.lingers == 300.0
