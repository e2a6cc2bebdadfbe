"""What the API server itself refuses, also while none of our processes runs: who may write what.

Shape is for the CRDs and look-ups are for the webhooks. Here it is about names: a decision is added in one's
own name or not at all, and who asked for something stays the one who asked. The operator is excepted by its
name, from all but one: it may not decide. Decisions in the name of others come from the web process alone,
which is known by its name, too, and says through which door they came.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from hibernator.api.kind import Kind
from hibernator.approvals.people import LONGEST_CLAIM

OWN_CHANNELS: Final = ("", "api", "cli", "kubectl")  # those through which people write for themselves
USER: Final = "request.userInfo.username"
IS_NEW: Final = "oldObject == null"
CLEANERS: Final = (
    "system:kube-controller-manager",  # where its controllers have no accounts of their own
    "system:serviceaccount:kube-system:generic-garbage-collector",
    "system:serviceaccount:kube-system:namespace-controller",
)
# The addresses that the log-in of the user brings, as `approvals.people.addresses` finds them: all those
# under one key, as `key=address address`.
_ADDRESSES: Final = (
    f"variables.extra[key].filter(one, one.contains('@') && one.size() <= {LONGEST_CLAIM}"
    r" && !one.matches('\\s'))"
)
MINE: Final = {
    "extra": "request.userInfo.?extra.orValue({})",
    "mine": f"variables.extra.map(key, {_ADDRESSES}.size() > 0, key + '=' + {_ADDRESSES}.join(' '))",
}

Whom = Literal["all but the operator", "the operator", "the web process", "everyone"]

_API: Final = "admissionregistration.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Check:
    """What must hold, and the sentence for those who break it, as text or as CEL."""

    cel: str
    message: str
    naming: str = ""

    def document(self) -> dict[str, str]:
        words = {"expression": self.cel, "message": self.message, "messageExpression": self.naming}
        return {key: word for key, word in words.items() if word} | {"reason": "Forbidden"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    name: str
    kinds: tuple[Kind[Any], ...]
    part: str = ""
    operations: tuple[str, ...]
    whom: Whom = "all but the operator"
    conditions: Mapping[str, str] = field(default_factory=dict)  # what it is about, besides the kinds
    variables: Mapping[str, str] = field(default_factory=dict)  # each may use those before it
    checks: tuple[Check, ...]

    def documents(self, operator: str, web: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The policy and its binding, with the user names of the operator and of the web process."""
        rules = [
            {
                "apiGroups": [kind.group],
                "apiVersions": [kind.version],
                "resources": [f"{kind.plural}/{self.part}" if self.part else kind.plural],
                "operations": list(self.operations),
            }
            for kind in self.kinds
        ]
        bound = {
            "all but the operator": {"not-the-operator": f"{USER} != {quoted(operator)}"},
            "the operator": {"the-operator": f"{USER} == {quoted(operator)}"},
            "the web process": {"the-web-process": f"{USER} == {quoted(web)}"},
            "everyone": {},
        }
        conditions = {**bound[self.whom], **self.conditions}
        variables = {"isWeb": f"{USER} == {quoted(web)}", **self.variables}
        spec = {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": rules},
            "matchConditions": _named(conditions),
            "variables": _named(variables),
            "validations": [check.document() for check in self.checks],
        }
        binding = {"policyName": self.name, "validationActions": ["Deny"]}
        return (
            _document("ValidatingAdmissionPolicy", self.name, spec),
            _document("ValidatingAdmissionPolicyBinding", self.name, binding),
        )


def quoted(text: str) -> str:
    """Text as CEL writes it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def listed(texts: Iterable[str]) -> str:
    return "[" + ", ".join(map(quoted, texts)) + "]"


def same(path: str) -> str:
    """Write the CEL that a field of the object is as it was, there or not."""
    return f"object.?{path} == oldObject.?{path}"


def metadata(of: str, part: str, key: str) -> str:
    """Write the CEL of a label or an annotation; empty where there is none."""
    return f"{of}.metadata.?{part}[?{quoted(key)}].orValue('')"


def may(verb: str, kind: Kind[Any], part: str = "") -> str:
    """Write the CEL that the roles of the user allow them something on this very object."""
    where = f".subresource({quoted(part)})" if part else ""
    return (
        f"authorizer.group({quoted(kind.group)}).resource({quoted(kind.plural)}){where}"
        f".namespace(request.namespace).name(request.name).check({quoted(verb)}).allowed()"
    )


def administrator(binding: str) -> str:
    """Write the CEL that the user could as well delete the binding of this policy."""
    return (
        "authorizer.group('admissionregistration.k8s.io').resource('validatingadmissionpolicybindings')"
        f".name({quoted(binding)}).check('delete').allowed()"
    )


def equivalent(claims: str) -> str:
    """Write the CEL that these are all addresses that the log-in brings, and nothing besides."""
    return f"(variables.mine.all(one, one in {claims}) && {claims}.all(one, one in variables.mine))"


def approver(kind: Kind[Any], decides: str) -> Check:
    """Anyone who decides needs the verb `approve`; at the doors, the web process sees to that."""
    return Check(
        f"!({decides}) || variables.isWeb || {may('approve', kind)}",
        "You may not approve or reject this: ask for the ClusterRole hibernator-approver",
        f"{USER} + ' may not approve or reject here: ask for the ClusterRole hibernator-approver"
        " in the namespace ' + request.namespace",
    )


def _named(expressions: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "expression": cel} for name, cel in expressions.items()]


def _document(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": _API, "kind": kind, "metadata": {"name": name}, "spec": spec}
