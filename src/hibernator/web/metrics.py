"""What the web process counts."""

from typing import Final

from hibernator.kube.metrics import Metric

REQUESTS = Metric(
    "hibernator_web_requests_total",
    "counter",
    ("route", "method", "code"),
    "Requests of people, by HTTP status; `unknown` is every path that there is not.",
)
SECONDS = Metric(
    "hibernator_web_request_seconds", "histogram", ("route",), "How long a person waited for an answer."
)
LOGINS = Metric(
    "hibernator_web_logins_total",
    "counter",
    ("way", "result"),
    "Log-ins by `oidc` or `saml`: `done`, or why not (`state`, `nonce`, `signature`, `domain`, "
    "`unverified_email`, `provider` and others).",
)
REFUSALS = Metric(
    "hibernator_web_refusals_total",
    "counter",
    ("reason",),
    "Requests refused before any page saw them: `origin` (sent by a page of another site), `form` (the "
    "form is not of this session), `rate`, `size` or `slow`.",
)
CLICKS = Metric(
    "hibernator_slack_clicks_total",
    "counter",
    ("result",),
    "Clicks in Slack: `done`, `refused` (who clicked was answered why) or `error`.",
)
OPEN_PAGES = Metric(
    "hibernator_web_open_pages",
    "gauge",
    (),
    "Open connections of pages that get changes at once; pages that poll are not counted.",
)
METRICS: Final = (REQUESTS, SECONDS, LOGINS, REFUSALS, CLICKS, OPEN_PAGES)
