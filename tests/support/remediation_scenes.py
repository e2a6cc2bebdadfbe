"""Small scenes for tests of remediations: something went wrong, an analysis, and people who decide."""

import json
from typing import Any

from support.account import operator_kubeconfig
from support.policed import police
from support.rights import may, until
from support.scaler_scenes import Scene

REQUESTS = "remediationapprovalrequests.remediation.kubernaut.ai"
ANALYSES = "aianalyses.aianalysis.kubernaut.ai"
REMEDIATIONS = "remediationrequests.remediation.kubernaut.ai"
BOB, CAROL, EVE = "bob@company.com", "carol@company.com", "eve@company.com"
POLICY = "hibernator-remediation-policy"
NAMESPACE_MAP = "hibernator-remediation"


class RemediationScene(Scene):
    def police(self) -> None:
        """Let the policies hold here, and Bob, Carol and Eve be approvers by the role that is shipped."""
        operator_kubeconfig(self.cluster.kubeconfig)
        police(self.cluster, self.namespace)
        users = (f"--user={user}" for user in (BOB, CAROL, EVE))
        self.kubectl("create", "rolebinding", "approvers", "--clusterrole=hibernator-approver", *users)
        until(lambda: may(self.cluster, self.namespace, BOB, "approve", REQUESTS))

    def kubectl(self, *arguments: str) -> str:
        return self.cluster.kubectl("-n", self.namespace, *arguments).stdout

    def all(self, kind: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.kubectl("get", kind, "-o", "json"))["items"]
        return found

    def analysis_status(self, name: str = "oom") -> dict[str, Any]:
        found: dict[str, Any] = self.get(ANALYSES, name).get("status", {})
        return found

    def phase(self, name: str = "oom") -> tuple[str, str]:
        status = self.analysis_status(name)
        return status.get("phase", ""), status.get("reason", "")

    def remediation_status(self, name: str = "oom") -> dict[str, Any]:
        found: dict[str, Any] = self.get(REMEDIATIONS, name).get("status", {})
        return found

    def request(self) -> dict[str, Any]:
        """The only request."""
        [found] = self.all(REQUESTS)
        return found

    def say(self, word: str, by: str = BOB, message: str = "", **more: Any) -> None:
        """Add a condition to the only request, as people do."""
        self.say_on(self.request()["metadata"]["name"], word, by, message, **more)

    def say_on(
        self,
        name: str,
        word: str,
        by: str = BOB,
        message: str = "",
        groups: tuple[str, ...] = (),
        **status: Any,
    ) -> None:
        """By somebody with no other rights than their roles give them; `groups` come with their log-in."""
        condition = {
            "type": word,
            "status": "True",
            "reason": "Decided",
            "message": message,
            "lastTransitionTime": "2020-01-01T00:00:00Z",  # whatever they write, it proves nothing
        }
        patch = {"status": {"conditions": [condition], "decidedBy": by} | status}
        self.kubectl(
            *("patch", REQUESTS, name, "--subresource=status", "--type=merge", "-p", json.dumps(patch)),
            *(f"--as={by}", *(f"--as-group={group}" for group in groups)),
        )

    def reasons(self, name: str) -> set[str]:
        """The reasons of the events about objects of a name."""
        return {reason for reason, _, _ in self.events(name)}


def remediation(name: str = "oom", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "remediation.kubernaut.ai/v1alpha1",
        "kind": "RemediationRequest",
        "metadata": {"name": name},
        "spec": {"signalName": "KubePodOOMKilled", "environment": "production"} | spec,
    }


def analysis(
    confidence: float | None = 0.65, name: str = "oom", of: str | None = "oom", **spec: Any
) -> dict[str, Any]:
    found = {"confidence": confidence, "recommendedPlaybook": "pod-oom-recovery", "signal": "OOMKilled"}
    reference = {"remediationRequestRef": {"name": of}} if of else {}
    return {
        "apiVersion": "aianalysis.kubernaut.ai/v1alpha1",
        "kind": "AIAnalysis",
        "metadata": {"name": name},
        "spec": reference | ({"analysis": found} if confidence is not None else {}) | spec,
    }


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
