package remediation

default approval := {"require_approval": false}

# Production is only touched when someone on call agrees; after half of the time their lead is asked too.
approval := {
	"require_approval": true,
	"reason": "Production is not touched without a second pair of eyes.",
	"timeout": "10m",
	"approvers": {"L1": ["oncall@company.com", "sre"], "L2": ["lead"]},
	"escalate_after": 0.5,
} if {
	input.remediation.environment == "production"
}
