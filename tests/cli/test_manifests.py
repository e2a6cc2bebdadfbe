"""`hibernator manifests`: all that a real cluster needs, wherever the operator shall live."""

import yaml

from hibernator.api.kinds import DEFINITIONS
from support.cluster import ClusterInTest
from support.command import hibernator


def test_everything_is_printed_in_an_order_that_can_be_applied() -> None:
    kinds = [document["kind"] for document in yaml.safe_load_all(hibernator("manifests").out)]
    assert kinds[0] == "Namespace"
    assert kinds.count("CustomResourceDefinition") == len(DEFINITIONS)
    for needed in ("ClusterRole", "ServiceAccount", "ValidatingAdmissionPolicy", "Lease"):
        assert needed in kinds
    assert kinds.index("ServiceAccount") < kinds.index("ClusterRoleBinding")


def test_the_operator_is_known_by_the_name_that_it_is_given() -> None:
    out = hibernator("manifests", "--namespace", "ops", "--service-account", "sleeper").out
    assert "hibernator-system" not in out
    documents = list(yaml.safe_load_all(out))
    policies = [one for one in documents if one["kind"] == "ValidatingAdmissionPolicy"]
    conditions = [one["spec"].get("matchConditions", []) for one in policies]
    every = [condition["expression"] for each in conditions for condition in each]
    named = [expression for expression in every if "username" in expression]
    assert set(named) == {
        "request.userInfo.username != 'system:serviceaccount:ops:sleeper'",
        "request.userInfo.username == 'system:serviceaccount:ops:sleeper'",  # who decides nothing
        "request.userInfo.username == 'system:serviceaccount:ops:hibernator-web'",
    }
    assert len(named) == len(policies) - 3  # those about versions and deliveries hold for everybody


def test_the_lease_is_free_so_that_no_one_waits_for_it() -> None:
    lease = next(one for one in yaml.safe_load_all(hibernator("manifests").out) if one["kind"] == "Lease")
    assert (lease["metadata"]["name"], lease["spec"]) == ("hibernator", {})


def test_a_real_api_server_takes_all_of_it(crds: ClusterInTest) -> None:
    """Into a namespace that exists: a dry run makes none, so what lives there would find none."""
    out = hibernator("manifests", "--namespace", "default").out
    done = crds.kubectl(
        "apply",
        "--server-side",
        "--force-conflicts",
        "--field-manager=dry",
        "--dry-run=server",
        "-f",
        "-",
        input=out,
    )
    documents = list(yaml.safe_load_all(out))
    assert len(done.stdout.splitlines()) == len(documents)
    assert "Warning" not in done.stderr
