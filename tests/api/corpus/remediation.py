"""RemediationRequests, RemediationApprovalRequests and AIAnalyses, and what the web process writes."""

from api.corpus.cases import Bad, Good
from api.objects import analysis, approval_request, delivery, plan_request, request, without

GOOD = [
    Good("a request that says nothing", request()),
    Good(
        "a request that tells all about the signal",
        request(
            signalName="KubePodOOMKilled",
            severity="critical",
            targetResource={"kind": "Pod", "name": "shop"},
            firingTime="2026-12-01T00:00:00.5+05:45",
            signalLabels={"pod": "shop", "Any Key/at all": ""},
        ),
    ),
    Good("a request without a spec", without(request(), "spec")),
    Good("an approval request", approval_request()),
    Good(
        "an approval request with a second level",
        approval_request(
            approvers=[{"level": "L1", "roles": ["sre"]}, {"level": "L2", "emails": ["cto@example.com"]}],
            escalateAt="2026-12-05T09:55:00Z",
        ),
    ),
    Good("a delivery to a person who is asked for two roles", delivery(asked=True, roles=["a", "b"])),
    Good("a plan is to be suspended", plan_request(until="2026-12-01T00:00:00Z", reason="A load test.")),
    Good("a plan is to be resumed", plan_request(action="Resume")),
    Good("an analysis that is not finished", without(analysis(), "spec", "analysis")),
    Good("an analysis of a signal in a word", analysis(analysis={"confidence": 1, "signal": "OOMKilled"})),
    Good(
        "an analysis of a signal in many words",
        analysis(analysis={"confidence": 0, "signal": {"labels": {"pod": "x"}, "count": 3}}),
    ),
]

BAD = [
    Bad(
        "a plan is to be resumed until then",
        plan_request(action="Resume", until="2026-12-01T00:00:00Z"),
        "until goes with action Suspend only",
        "spec.until",
    ),
    Bad(
        "a plan is to be deleted", plan_request(action="Delete"), 'Unsupported value: "Delete"', "spec.action"
    ),
    Bad(
        "a request about no plan",
        without(plan_request(), "spec", "plan"),
        "spec.plan: Required value",
        "spec.plan",
    ),
    Bad(
        "a request for no analysis",
        without(approval_request(), "spec", "aiAnalysisRef"),
        "spec.aiAnalysisRef: Required value",
        "spec.aiAnalysisRef",
    ),
    Bad(
        "a request without a deadline",
        without(approval_request(), "spec", "requiredBy"),
        "spec.requiredBy: Required value",
        "spec.requiredBy",
    ),
    Bad(
        "more than sure",
        approval_request(approvalContext={"confidence": 1.01}),
        "should be less than or equal to 1",
        "spec.approvalContext.confidence",
    ),
    Bad(
        "less than unsure",
        analysis(analysis={"confidence": -0.1}),
        "should be greater than or equal to 0",
        "spec.analysis.confidence",
    ),
    Bad(
        "a timeout in words", analysis(approvalTimeout="soon"), "spec.approvalTimeout", "spec.approvalTimeout"
    ),
    Bad(
        "a third level",
        approval_request(approvers=[{"level": "L3"}]),
        'supported values: "L1", "L2"',
        "spec.approvers[0].level",
    ),
    Bad(
        "labels that are numbers",
        request(signalLabels={"pods": 3}),
        "spec.signalLabels.pods",
        "spec.signalLabels.pods",
    ),
]
