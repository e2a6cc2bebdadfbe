"""What the form of a new exception makes of what is typed; pure."""

import random
import shlex
import time
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given, settings, strategies as st
from typer.testing import CliRunner
from whenever import Instant

from hibernator.api.exceptionpolicy import ExceptionPolicy
from hibernator.api.hibernateplan import HibernatePlan
from hibernator.api.scheduleexception import ScheduleException
from hibernator.approvals.people import Directory
from hibernator.cli.main import app
from hibernator.decisions.scheduleexception_new import ExceptionInput, read
from hibernator.web.dashboard.actions import ROOM
from hibernator.web.dashboard.drafting import Fields, Governed, from_kept, preview
from support.exception_scenes import EVERY_DAY, exception, hours
from support.plan_scenes import noop, plan

NOW = Instant.from_utc(2026, 3, 2, 12)  # a Monday
NOTES = {"hibernator.ardikabs.com/requested-by": "alice"}
NIGHTS = {"timezone": "Europe/Berlin", "offHours": hours("20:00", "06:00", EVERY_DAY)}
WRITTEN = plan(noop("a"), name="dev", schedule=NIGHTS)
WRITTEN["metadata"]["namespace"] = "team-a"
DEV = msgspec.convert(WRITTEN, HibernatePlan)
FORM = Fields(plan="team-a/dev", name="late", until="tomorrow 07:00", reason="A release")


def changed(**fields: str) -> Fields:
    return msgspec.structs.replace(FORM, **fields)


def shown(**fields: str) -> Any:
    return preview(changed(**fields), DEV, (), NOTES, NOW)


def test_the_hours_the_picture_and_the_changes_are_those_of_the_request() -> None:
    found = shown()
    assert found.problems == ()
    assert found.facts.hours[1] < found.facts.hours[0]
    assert found.facts.change_words() == ("Mon 2 Mar, 20:00 until Tue 3 Mar, 06:00: awake instead of asleep",)
    assert "Tue 3 Mar 2026, 07:00 (Europe/Berlin)" in found.when
    assert found.agree == ()


def test_who_must_agree_is_said_and_how_many() -> None:
    found = shown(approvers="bob@company.com, carol@company.com", roles="leads", threshold="2")
    assert found.agree == ("bob@company.com", "carol@company.com", "a member of the role leads")
    assert found.needed == "2 of 3"
    assert shown(approvers="bob@company.com").needed == "1 of 1"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"until": ""}, "Until is empty: write 07:00, tomorrow 07:00, 4h"),
        ({"until": "soon"}, "Until soon: this is not a time. Write it as 07:00"),
        ({"begin": "tomorrow", "until": "today 18:00"}, "it would begin at"),
        ({"windows": "at night"}, 'Windows at night: this is no window. Write it as "21:00-02:00 SAT,SUN"'),
        ({"windows": "25:00-26:00 MON"}, "windows[0].start"),
        ({"threshold": "many"}, "How many must agree is 'many': write a number"),
        ({"threshold": "3", "approvers": "bob@company.com"}, "approvalThreshold"),
        ({"approvers": "bob"}, "approverEmails[0]"),
        ({"name": "Late!"}, "name:"),
        ({"type": "explode"}, "type:"),
        ({"lead_time": "later"}, "leadTime"),
        ({"until": "100d"}, "90 days"),
    ],
)
def test_what_cannot_be_asked_for_is_said_with_the_fix(fields: dict[str, str], said: str) -> None:
    found = shown(**fields)
    assert found.document is None
    assert any(said in one for one in found.problems), found.problems


def test_another_request_for_the_same_time_is_named() -> None:
    other = exception(
        "party",
        "dev",
        type="extend",
        validFrom="2026-03-02T00:00:00Z",
        validUntil="2026-03-05T00:00:00Z",
        windows=hours("20:00", "23:00", EVERY_DAY),
    )
    other["metadata"]["namespace"] = "team-a"
    others = [msgspec.convert(other, ScheduleException)]
    found = preview(FORM, DEV, others, NOTES, NOW)
    assert found.conflicts[0].startswith("party (new) wants the same time from Mon 2 Mar 2026, 20:00")


def test_the_yaml_says_what_is_filed_and_names_no_one() -> None:
    found = shown(approvers="bob@company.com", windows="21:00-02:00 SAT,SUN\n20:00-22:00 MON")
    written = yaml.safe_load(found.yaml)
    assert written["spec"] == found.document["spec"]
    assert written["metadata"] == {"name": "late", "namespace": "team-a"}
    assert found.document["metadata"]["annotations"] == NOTES


TEXT = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=20)


@given(
    reason=TEXT,
    windows=st.lists(st.sampled_from(["21:00-02:00 SAT,SUN", "20:00-22:00 MON"]), max_size=2, unique=True),
    approvers=st.lists(st.sampled_from(["bob@company.com", "carol@company.com"]), max_size=2, unique=True),
    type_=st.sampled_from(["suspend", "extend", "replace"]),
)
@settings(max_examples=30, deadline=None)
def test_the_command_files_the_same_object(
    reason: str, windows: list[str], approvers: list[str], type_: str
) -> None:
    fields = changed(
        reason=reason.strip(), windows="\n".join(windows), approvers=" ".join(approvers), type=type_
    )
    found = preview(fields, DEV, (), NOTES, NOW)
    words = shlex.split(found.command)
    assert words[:3] == ["hibernator", "exception", "create"]
    given_: dict[str, list[str]] = {}
    at = iter(words[4:])
    for option in at:
        given_.setdefault(option, []).append(next(at))
    again = ExceptionInput(
        name=words[3],
        plan=given_["--plan"][0],
        type=given_["--type"][0],
        until=given_["--until"][0],
        reason=given_.get("--reason", [""])[0],
        windows=tuple(given_.get("--window", ())),
        approvers=tuple(given_.get("--approver", ())),
    )
    document, _, _ = read(again).document("Europe/Berlin", NOW, NOTES)
    assert document == found.document


def test_every_option_of_the_command_is_one_of_the_cli() -> None:
    fields = changed(
        windows="21:00-02:00 SAT",
        approvers="b@c.com",
        roles="leads",
        threshold="1",
        lead_time="1h",
        begin="1h",
    )
    found = preview(fields, DEV, (), NOTES, NOW, draft=True)
    helped = CliRunner().invoke(app, ["exception", "create", "--help"], env={"COLUMNS": "200"}).stdout
    for word in shlex.split(found.command):
        assert not word.startswith("--") or word in helped


@given(
    st.builds(
        Fields,
        **(
            dict.fromkeys(Fields.__struct_fields__, st.text(max_size=20)) | {"reason": st.text(max_size=1500)}
        ),
    )
)
@settings(max_examples=50)
def test_what_is_kept_over_a_log_in_fits_and_comes_back(fields: Fields) -> None:
    text = fields.kept(2_500)
    back = from_kept(text)
    assert back is not None
    assert msgspec.structs.replace(back, reason="") == msgspec.structs.replace(fields, reason="")
    assert fields.reason.startswith(back.reason)
    if len(msgspec.json.encode(fields)) <= 2_450:
        assert back == fields


@pytest.mark.parametrize(
    ("windows", "reason"), [(30_000, 30_000), (60_000, 1_000), (0, 60_000), (3_900, 56_000), (9_900, 2_000)]
)
def test_a_form_of_a_stranger_is_packed_in_no_time_whatever_it_holds(windows: int, reason: int) -> None:
    """It is kept before anybody has logged in: a tenth of a second each would keep others from the pages."""
    dice = random.Random(7)
    fields = Fields(
        windows="".join(dice.choices("abc", k=windows)), reason="".join(dice.choices("abc", k=reason))
    )
    assert min(_packing(fields) for _ in range(3)) < 0.01  # seconds of computing


def _packing(fields: Fields) -> float:
    began = time.thread_time()
    fields.kept(ROOM)
    return time.thread_time() - began


def test_a_cookie_of_another_shape_is_no_form() -> None:
    assert from_kept("[1]") is None
    assert from_kept("") is None


def governed(**spec: Any) -> Governed:
    one = {"metadata": {"name": "office", "namespace": "team-a"}, "spec": spec}
    return Governed(
        (msgspec.convert(one, ExceptionPolicy),), Directory(roles={"on-call": frozenset({"alice"})})
    )


def test_who_must_agree_by_a_policy_is_said_before_anything_is_filed() -> None:
    require = {"roles": ["leads"], "threshold": 1}
    found = preview(
        FORM, DEV, (), NOTES, NOW, governed=governed(require=require, message="It rests at night.")
    )
    assert found.policies == ("ExceptionPolicy office: It rests at night. leads must agree.",)
    relieved = governed(require=require, unless=[{"requesterRoles": ["on-call"]}])
    found = preview(FORM, DEV, (), NOTES, NOW, governed=relieved)
    assert found.policies == (
        "ExceptionPolicy office: no approval is needed, because alice is in the role on-call.",
    )


def test_what_a_policy_does_not_allow_is_said_in_its_own_words_and_a_draft_may_wait() -> None:
    short = governed(limits={"maxDuration": "1h"})
    [said] = preview(FORM, DEV, (), NOTES, NOW, governed=short).problems
    assert said.startswith("ExceptionPolicy office: It lasts ")
    assert preview(FORM, DEV, (), NOTES, NOW, governed=short, draft=True).document
