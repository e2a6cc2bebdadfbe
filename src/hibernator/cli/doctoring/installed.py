"""What the cluster must know of us: the CRDs, and the policies that hold while none of our processes runs."""

from collections.abc import Iterator
from typing import Any, Final

from hibernator.api.core import CUSTOM_RESOURCE_DEFINITIONS
from hibernator.api.crd import manifest
from hibernator.api.kinds import DEFINITIONS
from hibernator.cli.doctoring.asking import Answer
from hibernator.cli.doctoring.findings import Finding, Findings, InstalledOperator, Level, apply
from hibernator.operator.manifests import policies as shipped

_LEFT_OUT: Final[tuple[Any, ...]] = (None, "", [], {})  # by the API server, which writes nothing empty


def difference(ours: Any, theirs: Any, path: str, *, more: bool = False) -> str:
    """Empty when there is none. With `more`, they may have fields that we do not, such as defaults."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key, value in ours.items():
            if key not in theirs:
                if value in _LEFT_OUT:
                    continue
                return f"{path}.{key}"
            if found := difference(value, theirs[key], f"{path}.{key}", more=more):
                return found
        return "" if more else next((f"{path}.{key}" for key in theirs if key not in ours), "")
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        places = (
            difference(one, other, f"{path}[{index}]", more=more)
            for index, (one, other) in enumerate(zip(ours, theirs, strict=True))
        )
        return next(filter(None, places), "")
    return "" if ours == theirs else path


_ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
_PLURALS: Final = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}


async def crds(installation: InstalledOperator) -> Findings:
    bad: list[Finding] = []
    for definition in DEFINITIONS:
        ours = manifest(definition)
        name = ours["metadata"]["name"]
        found = await installation.asker.get(CUSTOM_RESOURCE_DEFINITIONS.path("", name))
        if found.forbidden:
            yield Finding("crds", Level.SKIP, *_unreadable(found))
            return
        if problem := (_problem(ours, found.body) if found.ok else (Level.FAIL, _absent(found))):
            level, saw = problem
            bad.append(Finding("crds", level, f"{name} {saw}", apply(installation.home)))
    for finding in bad:
        yield finding
    if not bad:
        yield Finding(
            "crds", Level.OK, f"all {len(DEFINITIONS)} are established, and as this version has them"
        )


def _problem(ours: dict[str, Any], theirs: dict[str, Any]) -> tuple[Level, str] | None:
    conditions = {each["type"]: each for each in theirs.get("status", {}).get("conditions", ())}
    for wanted in ("NamesAccepted", "Established"):
        condition = conditions.get(wanted, {})
        if condition.get("status") != "True":
            return Level.FAIL, f"is not served: {condition.get('message') or f'{wanted} is not True'}"
    for part in ("group", "scope", "versions"):
        if place := difference(ours["spec"][part], theirs["spec"][part], f"spec.{part}"):
            return Level.WARN, f"is not as this version has it, first at {place}"
    return None


def _unreadable(found: Answer) -> tuple[str, str]:
    return f"you may not read them: {found.message}", "Run the doctor as an administrator."


def _absent(found: Answer) -> str:
    return "is not installed" if found.missing else f"cannot be read: {found.message}"


async def policies(installation: InstalledOperator) -> Findings:
    bad = [finding async for finding in _bad_policies(installation)]
    for finding in bad:
        yield finding
    if not bad:
        count = len(list(_bindings(installation)))
        yield Finding("policies", Level.OK, f"all {count} are bound, and as this version has them")


async def _bad_policies(installation: InstalledOperator) -> Findings:
    for ours in shipped(installation.home):
        kind, name = ours["kind"], ours["metadata"]["name"]
        found = await installation.asker.get(f"{_ADMISSION}/{_PLURALS[kind]}/{name}")
        fix = apply(installation.home)
        if found.forbidden:
            yield Finding("policies", Level.SKIP, *_unreadable(found))
            return
        if not found.ok:
            yield Finding("policies", Level.FAIL, f"{kind} {name} {_absent(found)}", fix)
        # The API server writes out defaults.
        elif place := difference(ours["spec"], found.body["spec"], "spec", more=True):
            saw = (
                f"{kind} {name} is not as this version has it for {installation.home.user}, first at {place}"
            )
            yield Finding("policies", Level.FAIL, saw, fix)
        elif warnings := _complaints(found.body):
            yield Finding("policies", Level.WARN, f"{kind} {name}: the API server finds {warnings}", fix)


def _complaints(policy: dict[str, Any]) -> str:
    warnings = policy.get("status", {}).get("typeChecking", {}).get("expressionWarnings", ())
    return "; ".join(str(each.get("warning", "")).splitlines()[0] for each in warnings)


def _bindings(installation: InstalledOperator) -> Iterator[dict[str, Any]]:
    return (each for each in shipped(installation.home) if each["kind"].endswith("Binding"))


async def plugins(_installation: InstalledOperator | None = None) -> Findings:
    """The executors of other packages, as they are where this command runs: in the pod, the operator's."""
    from hibernator.executors.plugins import plugins as found

    for one in found():
        if one.problem:
            saw = f"{one.type} of {one.package} cannot be used: {one.problem}"
            yield Finding(
                "plug-ins", Level.FAIL, saw, "Fix or uninstall the package, then restart the operator."
            )
        else:
            yield Finding("plug-ins", Level.OK, f"{one.type} of {one.package}")
