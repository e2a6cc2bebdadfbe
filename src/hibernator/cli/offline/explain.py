"""`hibernator explain`: in words, why it is so at a moment and when it changes next."""

from collections.abc import Iterator, Sequence

from rich.text import Text
from whenever import Instant

from hibernator.cli.offline import out
from hibernator.cli.offline.ranges import years_of
from hibernator.cli.offline.source import Source
from hibernator.pictures.ink import words
from hibernator.pictures.resource import Resource
from hibernator.pictures.spells import Spell, spell
from hibernator.pictures.terminal import wrapped
from hibernator.schedule import times
from hibernator.schedule.ticks import DAY, HOUR, MINUTE, from_instant
from hibernator.schedule.timeline import Rule
from hibernator.schedule.zones import Zone, local_text


def run(source: Source, at: str | None, now: Instant | None) -> None:
    moment = times.parse("--at", at)
    now = now or source.now()
    scene = source.scene(years_of(now, moment))
    console = out.console(None)
    for number, resource in enumerate(scene.resources):
        if number:
            out.lines(console, [Text()])
        when = moment.seen_from(resource.zone.name, now) if moment else now
        out.lines(console, _explained(resource, when, console.width))
    out.notes(scene.notes)


def _explained(resource: Resource, moment: Instant, width: int) -> Iterator[Text]:
    explanation = resource.timeline.explain(moment)
    answer, zone = explanation.answer, resource.zone
    whole = spell(resource.timeline, moment)
    yield Text.assemble((resource.title, "bold"), f"  {zone.name}")
    yield Text(f"{local_text(zone, from_instant(moment))} ({moment.format_iso()})", style="dim")
    yield Text()
    yield from wrapped(answer.message, width, style="bold")
    yield from wrapped(f"Since {_since(whole, moment, zone)}.", width)
    yield from wrapped(f"Until {_until(whole, moment, zone)}", width)
    yield from _section("Rules, in the order in which they are looked at", _rules(explanation.rules), width)
    yield from _section("What would make a difference", explanation.otherwise, width)
    yield from _section("Not in force yet", _proposals(resource, moment), width)


def _since(whole: Spell, moment: Instant, zone: Zone) -> str:
    if whole.since is None:
        return "longer than 400 days ago"
    return f"{local_text(zone, from_instant(whole.since))}, for {_length(whole.since, moment)}"


def _until(whole: Spell, moment: Instant, zone: Zone) -> str:
    if whole.until is None or whole.following is None:
        return "further notice: it does not change within the next 400 days."
    then = whole.following.message
    until = local_text(zone, from_instant(whole.until))
    return f"{until}, in {_length(moment, whole.until)}. Then {then[:1].lower()}{then[1:]}"


def _rules(rules: Sequence[Rule]) -> Iterator[str]:
    for rule in rules:
        verdict = "decides: " if rule.decided else ""
        yield f"{rule.name}: {verdict}{rule.why}"


def _proposals(resource: Resource, moment: Instant) -> Iterator[str]:
    held = resource.timeline.at(moment).value
    for exception, timeline in resource.proposals:
        answer = timeline.at(moment)
        effect = (
            f"it would be {words(answer.value)} now" if answer.value != held else "nothing would change now"
        )
        yield f"exception {exception.name} ({exception.spec.type}) is {exception.standing}; with it, {effect}"


def _section(title: str, entries: Sequence[str] | Iterator[str], width: int) -> Iterator[Text]:
    for number, entry in enumerate(entries):
        if not number:
            yield Text()
            yield Text(title, style="bold")
        yield from wrapped(entry, width, bullet="- ")


def _length(start: Instant, end: Instant) -> str:
    """A length of time in the two largest units that say something: `2 days 3 h`, `1 h 30 min`."""
    minutes = (from_instant(end) - from_instant(start)) // MINUTE
    days, rest = divmod(minutes, DAY // MINUTE)
    hours, minutes = divmod(rest, HOUR // MINUTE)
    parts = [f"{days} day{'' if days == 1 else 's'}" if days else "", f"{hours} h" if hours else ""]
    parts += [f"{minutes} min" if minutes and not days else ""]
    return " ".join(part for part in parts if part) or "less than a minute"
