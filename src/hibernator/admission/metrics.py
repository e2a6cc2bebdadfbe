"""What the webhooks count."""

from typing import Final

from hibernator.kube.metrics import Metric

REQUESTS = Metric(
    "hibernator_webhook_requests_total",
    "counter",
    ("path", "code"),
    "Requests to the webhooks, by HTTP status. All but 200 deserve a look at the log; those to an `unknown` "
    "path came from no API server.",
)
SECONDS = Metric(
    "hibernator_webhook_seconds", "histogram", ("path",), "How long an API server waited for a webhook."
)
CERTIFICATE_END = Metric(
    "hibernator_webhook_certificate_end_seconds",
    "gauge",
    (),
    "When the certificate that is served ends, in seconds since 1970. Less than 25 days ahead, it was not "
    "replaced in time.",
)
METRICS: Final = (REQUESTS, SECONDS, CERTIFICATE_END)
