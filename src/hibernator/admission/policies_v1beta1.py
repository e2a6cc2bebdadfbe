"""Nothing of a v1beta1 scaler is lost before someone converts it.

Until the operator has registered its conversion, the API server stores v1beta1 as if it were v1alpha1 and
drops what that does not know. So a policy inside the API server refuses such writes, and only those: what
v1alpha1 can say may be written in either version, with or without an operator.
"""

from typing import Any

from hibernator.api.kind import Kind
from hibernator.api.timewindowscaler_v1beta1 import SCALERS

NAME = "hibernator-v1beta1-needs-conversion"

_CONVERTED = "params.spec.conversion.strategy == 'Webhook'"
_NOTHING_TO_LOSE = (
    "object.spec.windows.all(w, has(w.replicas) && type(w.replicas) == int && !has(w.timezone)"
    " && !has(w.external))"
    " && (!has(object.spec.defaultReplicas) || type(object.spec.defaultReplicas) == int)"
)
_MESSAGE = (
    "timezone, external and percentages can be stored only while the operator converts them: "
    "run the operator with webhooks, or leave them out"
)


def policies(kind: Kind[Any] = SCALERS, name: str = NAME) -> tuple[dict[str, Any], ...]:
    """The policy and its binding. Its parameter is the CRD itself, which says who converts."""
    rule = {
        "apiGroups": [kind.group],
        "apiVersions": [kind.version],
        "resources": [kind.plural],
        "operations": ["CREATE", "UPDATE"],
    }
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "paramKind": {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"},
            # Exact, because the same write in v1alpha1 is not this policy's business.
            "matchConstraints": {"matchPolicy": "Exact", "resourceRules": [rule]},
            "validations": [{"expression": f"{_CONVERTED} || ({_NOTHING_TO_LOSE})", "message": _MESSAGE}],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "paramRef": {"name": kind.resource, "parameterNotFoundAction": "Deny"},
        },
    }
    return policy, binding
