"""What one command puts right is told together."""

from hypothesis import given, strategies as st

from hibernator.cli.doctoring.findings import Finding, Group, Level, one_cause

FINDINGS = st.lists(
    st.builds(
        Finding,
        about=st.sampled_from(["crds", "policies"]),
        level=st.sampled_from(Level),
        saw=st.just("something"),
        fix=st.sampled_from(["", "apply", "look"]),
    )
)


def finding(about: str, saw: str, fix: str = "apply", level: Level = Level.FAIL) -> Finding:
    return Finding(about, level, saw, fix)


def test_a_fix_for_many_is_told_once_after_the_last_of_them() -> None:
    absent = [finding("crds", f"{number} is not installed") for number in range(8)]
    policy = finding("policies", "one is not bound")
    clock = finding("clock", "the clock is late", "set it", Level.WARN)
    assert list(one_cause([*absent, policy, clock])) == [
        Group(tuple(absent[:3]), 5, ""),
        Group((policy,), 0, "apply"),
        Group((clock,), 0, "set it"),
    ]


@given(FINDINGS)
def test_nothing_is_lost_and_the_order_is_kept(findings: list[Finding]) -> None:
    groups = list(one_cause(findings))
    assert sum(len(group.shown) + group.more for group in groups) == len(findings)
    rest = iter(findings)
    assert all(each in rest for group in groups for each in group.shown)
    wanted = {each.fix for each in findings if each.level is not Level.OK}
    assert {group.fix for group in groups} | {""} == wanted | {""}
