"""Every command: its module, and its first sentence as `hibernator --help` shows it.

A test compares the sentences with what the commands say of themselves.
"""

from collections.abc import Mapping
from typing import Final

from hibernator.cli.lazy import Entry

_CLUSTER: Final = "In a cluster"
_FILES: Final = "Schedules, from files or a cluster"
_INSTALL: Final = "Installing and running"
_TRY: Final = "Trying it"

COMMANDS: Final[Mapping[str, Entry]] = {
    "why": Entry(
        "hibernator.cli.why:why",
        "Explain which plan or scaler covers a workload, why it sleeps or runs, until when and by whom.",
        _CLUSTER,
    ),
    "plan": Entry(
        "hibernator.cli.plan:app",
        "List and describe HibernatePlans; suspend, resume, retry, wake or put them to sleep.",
        _CLUSTER,
    ),
    "exception": Entry(
        "hibernator.cli.exception:app", "Manage temporary schedule overrides and their approvals.", _CLUSTER
    ),
    "policy": Entry(
        "hibernator.cli.policy:app",
        "Show what ExceptionPolicies require of an exception, and test them.",
        _CLUSTER,
    ),
    "scaler": Entry(
        "hibernator.cli.scaler:app", "List and describe TimeWindowScalers; pause or resume them.", _CLUSTER
    ),
    "remediation": Entry(
        "hibernator.cli.remediation:app",
        "See remediations that wait for approval, and approve or reject them.",
        _CLUSTER,
    ),
    "notification": Entry(
        "hibernator.cli.notification:app",
        "List notifications, preview their messages, and send a test.",
        _CLUSTER,
    ),
    "audit": Entry("hibernator.cli.audit:app", "Read, export and check the audit trail.", _CLUSTER),
    "savings": Entry(
        "hibernator.cli.savings:savings",
        "Show what sleeping has saved, by plan and month, with what it is worth.",
        _CLUSTER,
    ),
    "simulate": Entry(
        "hibernator.cli.offline.commands:simulate",
        "Show what will be asleep when, and how many replicas will run.",
        _FILES,
    ),
    "explain": Entry(
        "hibernator.cli.offline.commands:explain",
        "Explain why something is asleep or awake, and when that changes.",
        _FILES,
    ),
    "validate": Entry(
        "hibernator.cli.offline.commands:validate",
        "Check files for mistakes, without a cluster.",
        _FILES,
    ),
    "diff": Entry(
        "hibernator.cli.offline.commands:diff",
        "Compare two versions: what would change over the next four weeks.",
        _FILES,
    ),
    "convert": Entry(
        "hibernator.cli.offline.commands:convert",
        "Convert other formats to plans with off-hours, or such plans to cron lines.",
        _FILES,
    ),
    "version": Entry(
        "hibernator.cli.version:version",
        "Print the versions of this command and of the cluster's Kubernetes.",
        _INSTALL,
    ),
    "completion": Entry(
        "hibernator.cli.shells:completion",
        "Print the script that lets a shell complete commands, options and names.",
        _INSTALL,
    ),
    "doctor": Entry(
        "hibernator.cli.doctor:doctor",
        "Check an installation: cluster, CRDs, permissions, webhooks, certificates, database, clocks.",
        _INSTALL,
    ),
    "manifests": Entry(
        "hibernator.cli.manifests:manifests",
        "Print all that a cluster needs besides the Deployment: CRDs, roles, policies and the Lease.",
        _INSTALL,
    ),
    "crds": Entry("hibernator.cli.manifests:crds", "Print the CustomResourceDefinitions.", _INSTALL),
    "operator": Entry(
        "hibernator.cli.operator:operator",
        "Run the operator: all controllers, health and metrics, until it is stopped.",
        _INSTALL,
    ),
    "web": Entry(
        "hibernator.cli.web:web",
        "Run the web process: log-in, pages, dashboard and messages.",
        _INSTALL,
    ),
    "config": Entry(
        "hibernator.cli.operator:config",
        "Print the settings that result from flags, environment and file, as a file.",
        _INSTALL,
    ),
    "uninstall": Entry(
        "hibernator.cli.uninstall:uninstall",
        "Wake everything and remove plans, scalers, webhooks, finalizers and policies, in the right order.",
        _INSTALL,
    ),
    "detach": Entry(
        "hibernator.cli.detach:detach",
        "Remove the webhooks and policies that the operator registered, once it is removed.",
        _INSTALL,
    ),
    "demo": Entry(
        "hibernator.cli.demo:demo",
        "Run a demo: a shop sleeps and wakes on a real control plane, with the real operator.",
        _TRY,
    ),
    "controlplane": Entry(
        "hibernator.cli.controlplane:app",
        "A real Kubernetes control plane on this machine, for tests, demos and benchmarks.",
        _TRY,
    ),
}
