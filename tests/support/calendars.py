"""Calendars as people write them, and as nobody should."""


def calendar(*events: str) -> str:
    body = "".join(f"BEGIN:VEVENT\n{event}\nEND:VEVENT\n" for event in events)
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//test//EN\n{body}END:VCALENDAR\n"


HARMLESS = calendar("UID:1\nDTSTART;VALUE=DATE:20200501\nRRULE:FREQ=YEARLY\nSUMMARY:Labour Day")
# Two kilobytes that take minutes to expand.
HOSTILE = calendar(
    *(f"UID:{number}\nDTSTART;VALUE=DATE:000201{number + 1:02}\nRRULE:FREQ=DAILY" for number in range(20))
)
