"""ScheduleExceptions: their validity, their windows and who must agree."""

from api.corpus.cases import START_IS_END, Bad, Good
from api.objects import approvals, exception, off_hours, without

GOOD = [
    Good("a suspension with lead time", exception(leadTime="1h30m")),
    Good("a suspension whose lead time is empty", exception(leadTime="")),
    Good("an extension whose lead time is empty", exception(type="extend", leadTime="")),
    Good("an extension with a lead time, which has no effect", exception(type="extend", leadTime="1h")),
    Good("a replacement with a lead time, which has no effect", exception(type="replace", leadTime="1h")),
    Good("a replacement", exception(type="replace")),
    Good(
        "exactly ninety days", exception(validFrom="2026-01-01T00:00:00Z", validUntil="2026-04-01T00:00:00Z")
    ),
    Good(
        "ninety days across zones",
        exception(validFrom="2026-01-01T00:00:00+01:00", validUntil="2026-04-01T01:00:00+02:00"),
    ),
    Good("an exception that ends as it begins", exception(validUntil="2026-12-01T00:00:00Z")),
    Good("everybody must agree", approvals()),
    Good("everybody must agree, in a word", approvals(approvalThreshold="all")),
    Good("two of three must agree", approvals(approvalThreshold=2)),
    Good("a draft", approvals(draft=True)),
]

BAD = [
    Bad(
        "an exception that ends before it begins",
        exception(validUntil="2026-11-30T23:59:59Z"),
        "validUntil must not be before validFrom",
        "spec.validUntil",
    ),
    Bad(
        "an exception of more than ninety days",
        exception(validFrom="2026-01-01T00:00:00Z", validUntil="2026-04-01T00:00:01Z"),
        "An exception lasts at most 90 days",
        "spec.validUntil",
    ),
    Bad(
        "an instant with an offset that no clock has",
        exception(validUntil="2026-12-31T00:00:00+24:00"),
        "spec.validUntil",
        "spec.validUntil",
    ),
    Bad(
        "an instant without a zone",
        exception(validUntil="2026-12-31T00:00:00"),
        "spec.validUntil",
        "spec.validUntil",
    ),
    Bad(
        "a day that no year has",
        exception(validUntil="2026-02-30T00:00:00Z"),
        "spec.validUntil",
        "spec.validUntil",
    ),
    Bad("lead time in words", exception(leadTime="an hour"), "spec.leadTime", "spec.leadTime"),
    Bad(
        "an exception without windows",
        without(exception(), "spec", "windows"),
        "spec.windows: Required value",
        "spec.windows",
    ),
    Bad(
        "an exception with an empty list of windows",
        exception() | {"spec": exception()["spec"] | {"windows": []}},
        "spec.windows",
        "spec.windows",
    ),
    Bad(
        "an exception whose window ends when it begins",
        exception(off_hours("7:30", "07:30")),
        START_IS_END,
        "spec.windows[0]",
    ),
    Bad(
        "an exception of no known type",
        exception(type="pause"),
        'supported values: "extend", "suspend", "replace"',
        "spec.type",
    ),
    Bad(
        "an exception from no plan",
        without(exception(), "spec", "planRef"),
        "spec.planRef: Required value",
        "spec.planRef",
    ),
    Bad(
        "an exception from a plan without a name",
        exception(planRef={"name": ""}),
        "spec.planRef.name",
        "spec.planRef.name",
    ),
    Bad(
        "approval by nobody",
        exception(approvalRequired=True),
        "approvalRequired needs an approver",
        "spec.approvalRequired",
    ),
    Bad(
        "approval by most",
        approvals(approvalThreshold="most"),
        "approvalThreshold must be `all` or a number from 1 on",
        "spec.approvalThreshold",
    ),
    Bad(
        "approval by none",
        approvals(approvalThreshold=0),
        "approvalThreshold must be `all` or a number from 1 on",
        "spec.approvalThreshold",
    ),
    Bad(
        "more approvals than approvers",
        approvals(approvalThreshold=4),
        "approvalThreshold asks for more approvals than there are approvers",
        "spec.approvalThreshold",
    ),
    Bad(
        "an approver without an address",
        approvals(approverEmails=["bob"]),
        "spec.approverEmails[0]",
        "spec.approverEmails[0]",
    ),
    Bad(
        "the same approver twice",
        approvals(approverEmails=["bob@example.com", "bob@example.com"]),
        'Duplicate value: "bob@example.com"',
        "spec.approverEmails[1]",
    ),
    Bad(
        "the same approver in capitals",
        approvals(approverEmails=["bob@example.com", "Bob@Example.com"]),
        "approverEmails must name each person once",
        "spec.approverEmails[1]",
    ),
]
