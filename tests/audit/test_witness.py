"""The witness of the whole scene: it misses nothing that is still there when the API server forgets."""

import json

from support.cluster import ClusterInTest
from support.rights import until
from support.scaler_scenes import scaler
from support.witness import Witness

KIND = "TimeWindowScaler"
GONE = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}


def test_it_goes_on_with_what_is_there_when_its_place_is_forgotten(
    crds: ClusterInTest, namespace: str
) -> None:
    def write(name: str, replicas: int) -> None:
        text = json.dumps(scaler(name, defaultReplicas=replicas))
        crds.kubectl("apply", "-n", namespace, "-f", "-", input=text)

    with Witness(crds, namespace) as witness:
        write("changed", 1)
        write("deleted", 1)
        until(lambda: len(witness.versions(KIND)) == 2)
        listener = witness._listeners[KIND]
        listener.kill()
        listener.wait()
        with witness._file(KIND).open("a") as file:
            file.write(json.dumps(GONE) + "\n")
        write("changed", 2)
        write("new", 1)
        crds.kubectl("delete", "timewindowscaler", "deleted", "-n", namespace)
        heard = witness.versions(KIND)
        assert [one["spec"]["defaultReplicas"] for one in heard["changed"]] == [1, 2]
        assert len(heard["new"]) == 1
        assert witness.happened()[KIND, "deleted", "deleted"] == 1
        write("new", 3)
        until(lambda: len(witness.versions(KIND)["new"]) == 2)
        assert [one["spec"]["defaultReplicas"] for one in witness.versions(KIND)["new"]] == [1, 3]
