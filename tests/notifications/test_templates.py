"""Templates of users: what they can say, and that they cannot do anything else."""

from collections.abc import AsyncIterator

import pytest
from msgspec import structs

from hibernator.notifications import templates as templates_module
from hibernator.notifications.occasions import Occasion, Parcel
from hibernator.notifications.template_worker import render
from hibernator.notifications.templates import TemplateError, Templates, context, template_in

ONE = Occasion(
    id="1",
    event="Failure",
    type="hibernateplan.sleep.failed",
    kind="HibernatePlan",
    namespace="team-a",
    name="shop",
    uid="u",
    time="2026-03-02T20:00:00Z",
    message="it <failed>",
    data={"failed": 2},
)
PARCEL = Parcel("msg_1", (ONE,))


def test_a_template_says_what_its_input_has() -> None:
    template = (
        "{{ event }} of {{ name | bold }}: {{ message | e }} ({{ data.failed }} of {{ count }}){{ nothing }}"
    )
    assert render(template, context(PARCEL), "slack") == {
        "text": "Failure of *shop*: it &lt;failed&gt; (2 of 1)"
    }
    many = "{% for one in events %}{{ one.name }}{% endfor %}"
    assert render(many, context(PARCEL), "plain") == {"text": "shop"}
    assert render("{{ time | moment }}", context(PARCEL), "plain") == {"text": "Mon 2 Mar 2026, 20:00 UTC"}
    assert render("{# nothing #}", context(PARCEL), "plain") == {"error": "it makes no text"}
    assert render(r'{{ "\ud800" }}', context(PARCEL), "plain") == {"text": "?"}


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ event.__init__.__globals__ }}",
        "{{ self.__init__.__globals__ }}",
        "{{ cycler.__init__.__globals__.os.environ }}",
        "{{ lipsum.__globals__['os'].popen('id').read() }}",
        "{{ events.append(1) }}",
        "{{ events.__class__ }}",
        "{{ ().__class__.__base__ }}",
        "{{ '{0.__class__}'.format(event) }}",
        "{{ ('{0.__class__}' | attr('format'))(event) }}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}{{ os }}",
        "{% for",
        "{{ 1 / 0 }}",
        "{{ range(1000000) }}",
        "{{ (event | attr('__class__')).__mro__ }}",
        "{{ joiner.__init__.__globals__ }}",
        "{{ namespace.__init__.__globals__ }}",
        "{{ events | map(attribute='__class__') | list }}",
        "{{ [event] | map('attr', '__class__') | list }}",
        "{{ events | sort(attribute='__init__.__globals__') }}",
        "{% set x = cycler('a').next.__func__.__globals__ %}{{ x }}",
        "{{ url_for.__globals__ }}{{ get_flashed_messages.__globals__ }}{{ config.items() }}",
    ],
)
def test_a_template_cannot_leave_its_sandbox(template: str) -> None:
    found = render(template, context(PARCEL), "plain")
    assert "error" in found or found["text"] in {"", "[Undefined]"}
    assert "root:" not in str(found)


@pytest.fixture(scope="module")
async def templates() -> AsyncIterator[Templates]:
    async with Templates() as found:
        yield found


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "too slow"),
        ("{% for a in range(99999) %}{{ 'x' * 1000 }}{% endfor %}", "more than 16384 characters"),
        ("{% set a = 'x' * 9999999999 %}", "too much memory|too long|MemoryError"),
        ("{{ 99999999 ** 99999999 }}", "too slow|too much memory"),
        ("{% set x = 'ab' %}" + "{% set x = x ~ x %}" * 60, "too much memory"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "too much memory|recursion"),
        ("{{ 'x' | center(10 ** 12) }}", "too much memory|OverflowError"),
        ("{{ ('ab' * 9999) | replace('a', 'b' * 99999) }}", "too much memory|16384"),
        ("{{ [0] * 10 ** 10 }}", "too much memory"),
        ("{{ '%999999999s' % name }}", "too much memory|16384|broken"),
    ],
)
async def test_a_template_is_bounded_in_time_and_size(
    templates: Templates, template: str, expected: str
) -> None:
    with pytest.raises(TemplateError, match=expected):
        await templates.render(template, PARCEL, "plain")
    assert await templates.render("{{ name }}", PARCEL, "plain") == "shop"  # and the next one works


async def test_a_template_that_had_to_be_stopped_is_left_alone_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(templates_module, "_SECONDS", 0)  # what is left of the first second
    endless = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    async with Templates(lambda: now[0]) as found:
        for waited, is_asked in ((0, True), (599, False), (2, True)):
            now[0] += waited
            await found.render("{{ name }}", PARCEL, "plain")
            process = found._child.pid
            with pytest.raises(TemplateError, match="too slow"):
                await found.render(endless, PARCEL, "plain")
            assert (found._child.pid != process) == is_asked


async def test_a_template_that_is_left_alone_in_one_namespace_is_not_in_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(templates_module, "_SECONDS", 0)
    template = "{% if namespace == 'team-a' %}{% for a in range(99999) %}{% for b in range(99999) %}"
    template += "{% endfor %}{% endfor %}{% endif %}{{ namespace }}"
    other = Parcel("msg_2", (structs.replace(ONE, namespace="team-b"),))
    async with Templates() as found:
        with pytest.raises(TemplateError, match="too slow"):
            await found.render(template, PARCEL, "plain")
        assert await found.render(template, other, "plain") == "team-b"


def test_what_is_no_template_is_explained() -> None:
    for key in ("template.gotpl", "template.jinja"):  # the original's own default, and ours
        with pytest.raises(TemplateError, match=r"Go template: write it in Jinja2.* template\.jinja"):
            template_in({"template.gotpl": "{{ .Plan }}"}, key)
    with pytest.raises(TemplateError, match="no key 'a'"):
        template_in({}, "a")
