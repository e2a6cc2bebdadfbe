"""In words: why it is so, since when, until when, and what would make a difference."""

from whenever import Instant

from cli.offline import samples
from support.command import Ran, hibernator


def explained(*documents: samples.Value, at: str, name: str = "") -> list[str]:
    ran = _run(*documents, at=at, name=name)
    assert ran.code == 0, ran.err
    return ran.out.splitlines()


def _run(*documents: samples.Value, at: str, name: str = "") -> Ran:
    return hibernator("explain", *filter(None, [name]), "-f", "-", "--at", at, stdin=samples.text(*documents))


def test_a_sleeping_plan_explains_itself() -> None:
    assert explained(samples.plan(), samples.exception("party"), at="2026-03-03T19:30:00Z") == [
        "HibernatePlan default/dev  Europe/Berlin",
        "Tue 2026-03-03 20:30 (2026-03-03T19:30:00Z)",
        "",
        "Asleep: the off-hours 20:00-06:00 Mon-Fri (Europe/Berlin) cover this time.",
        "Since Tue 2026-03-03 20:00, for 30 min.",
        "Until Tue 2026-03-03 21:00, in 30 min. Then awake: the exception party suspends",
        "all sleep in 21:00-23:00 Tue.",
        "",
        "Rules, in the order in which they are looked at",
        "- off-hours 20:00-06:00 Mon-Fri: decides: covers this time, from Tue 2026-03-03",
        "  20:00 until Wed 2026-03-04 06:00",
        "- exception party (suspend): is valid, but none of its windows cover this time",
        "",
        "What would make a difference",
        "- It would be awake outside the off-hours 20:00-06:00 Mon-Fri.",
        "- An exception that suspends sleep at this time would keep it awake.",
    ]


def test_a_sleep_that_goes_on_for_another_reason_is_one_sleep() -> None:
    longer = samples.exception(type="extend", windows=[samples.window(start="06:00", end="09:00")])
    lines = explained(samples.plan(), longer, at="2026-03-03T07:30:00Z")
    assert lines[3:6] == [
        "Asleep: the exception late adds the off-hours 06:00-09:00 Mon-Fri.",
        "Since Mon 2026-03-02 20:00, for 12 h 30 min.",
        "Until Tue 2026-03-03 09:00, in 30 min. Then awake: no off-hours cover this time",
    ]


def test_a_pending_exception_is_told_with_what_it_would_do() -> None:
    lines = explained(samples.plan(), samples.pending("party"), at="2026-03-03T20:30:00Z")
    assert lines[-3:] == [
        "Not in force yet",
        "- exception party (suspend) is pending approval; with it, it would be awake now",
    ][-3:] or lines[-2:] == [
        "Not in force yet",
        "- exception party (suspend) is pending approval; with it, it would be awake now",
    ]


def test_what_never_changes_says_so() -> None:
    always = samples.window(
        start="00:00", end="23:59", daysOfWeek=["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"]
    )
    lines = explained(samples.plan(offHours=[always]), at="2026-03-03T20:30:00Z")
    assert lines[4:6] == [
        "Since longer than 400 days ago.",
        "Until further notice: it does not change within the next 400 days.",
    ]


def test_a_scaler_explains_its_number() -> None:
    lines = explained(samples.scaler(), at="2026-03-02T07:00:00Z")
    assert lines[3] == "4 replicas: the window 08:00-20:00 Mon-Fri (Europe/Berlin) covers this time."
    assert lines[4] == "Since Mon 2026-03-02 08:00, for less than a minute."
    assert lines[5] == "Until Mon 2026-03-02 20:00, in 12 h. Then 1 replica, the default: no window"


def test_without_a_moment_it_is_now() -> None:
    ran = hibernator(
        "explain", "-f", "-", stdin=samples.text(samples.plan()), now=Instant.from_utc(2026, 3, 3, 12)
    )
    assert ran.out.splitlines()[1] == "Tue 2026-03-03 13:00 (2026-03-03T12:00:00Z)"


def test_a_name_chooses_and_may_carry_its_namespace() -> None:
    other = samples.plan("dev")
    other["metadata"]["namespace"] = "team-b"
    documents = (samples.plan("dev"), samples.plan("ops"), other, samples.scaler("dev"))
    titles = [line for line in explained(*documents, at="2026-03-03", name="dev") if "  Europe" in line]
    assert titles == [
        "HibernatePlan default/dev  Europe/Berlin",
        "HibernatePlan team-b/dev  Europe/Berlin",
        "TimeWindowScaler default/dev  Europe/Berlin",
    ]
    chosen = explained(*documents, at="2026-03-03", name="team-b/dev")
    assert [line for line in chosen if "  Europe" in line] == ["HibernatePlan team-b/dev  Europe/Berlin"]


def test_a_name_that_is_not_there_is_told_with_the_one_that_was_meant() -> None:
    ran = _run(samples.plan("staging"), at="2026-03-03", name="stagin")
    assert (ran.code, ran.err) == (1, "error: There is no stagin in these files.\nDid you mean staging?\n")
    ran = _run(samples.plan("dev"), samples.scaler("shop"), at="2026-03-03", name="zzz")
    assert ran.err == "error: There is no zzz in these files.\nThere are dev, shop.\n"


def test_the_name_of_an_exception_leads_to_its_plan() -> None:
    ran = _run(samples.plan("dev"), samples.exception("party"), at="2026-03-03", name="party")
    assert ran.err == "error: party is an exception.\nExplain its plan: hibernator explain dev -f FILE\n"
