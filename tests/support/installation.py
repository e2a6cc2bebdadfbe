"""An installation for the doctor to look at: a control plane with our manifests, and a running operator."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hibernator.controlplane.access import RequestError
from hibernator.controlplane.ports import free_port
from support.cluster import ClusterInTest
from support.command import hibernator
from support.kubeconfigs import write_kubeconfig

_DEADLINE = 300.0  # seconds; reached only by a test that fails


@dataclass
class Installation:
    plane: ClusterInTest
    folder: Path
    process: subprocess.Popen[str] | None = None
    port: int = field(default_factory=free_port)

    @property
    def database(self) -> str:
        return f"sqlite:///{self.folder}/audit.db"

    def apply(self) -> None:
        """What the doctor itself recommends."""
        manifests = hibernator("manifests").out
        self.plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=manifests)
        self.plane.until_established()

    def account(self, name: str = "hibernator", namespace: str = "hibernator-system") -> Path:
        """A way in under the name of a service account."""
        token = self.plane.kubectl("create", "token", name, "-n", namespace, "--duration=24h").stdout.strip()
        return write_kubeconfig(
            self.folder / f"{name}.kubeconfig",
            cluster={"server": self.plane.url, "certificate-authority": str(self.plane.ca)},
            user={"token": token},
        )

    def start(self) -> None:
        """Run the operator as the service account that the manifests make."""
        command = [sys.executable, "-m", "hibernator.cli.main", "operator", f"--kubeconfig={self.account()}"]
        command += [f"--database={self.database}", "--listen=127.0.0.1:0", "--log-format=json"]
        command += [f"--webhook-listen=127.0.0.1:{self.port}", f"--webhook-url=https://127.0.0.1:{self.port}"]
        with (self.folder / "operator.log").open("a", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stderr=log, stdout=log, text=True, cwd=self.folder)
        self.until(self.serves)

    def serves(self) -> bool:
        """Whether somebody leads, and has told the API server of webhooks."""
        configuration = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hibernator"
        definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/timewindowscalers.kyklos.io"
        lease = "/apis/coordination.k8s.io/v1/namespaces/hibernator-system/leases/hibernator"
        try:
            self.plane.request("GET", configuration)  # the last that an operator registers
            conversion = self.plane.request("GET", definition)["spec"]["conversion"]
            converted = conversion.get("webhook", {}).get("clientConfig", {}).get("url")
            return bool(converted and self.plane.request("GET", lease)["spec"].get("holderIdentity"))
        except RequestError:
            return False

    def stop(self) -> None:
        if self.process:
            self.process.terminate()
            self.process.wait(timeout=_DEADLINE)
            self.process = None

    def findings(
        self, *arguments: object, kubeconfig: Path | None = None
    ) -> tuple[int, list[dict[str, Any]]]:
        database = [] if "--database" in arguments else ["--database", self.database]
        way_in = ["--kubeconfig", kubeconfig or self.plane.kubeconfig]
        ran = hibernator("doctor", "-o", "json", *way_in, *database, *arguments)
        return ran.code, json.loads(ran.out)["findings"]

    def about(self, about: str, *arguments: object, kubeconfig: Path | None = None) -> list[dict[str, Any]]:
        _, findings = self.findings(*arguments, kubeconfig=kubeconfig)
        return [finding for finding in findings if finding["about"] == about]

    def levels(self, *abouts: str) -> list[str]:
        _, findings = self.findings()
        return [finding["level"] for finding in findings if finding["about"] in abouts]

    def until(self, fact: Callable[[], Any]) -> None:
        deadline = time.monotonic() + _DEADLINE
        while not fact():
            assert time.monotonic() < deadline, json.dumps(self.findings(), indent=1)
            time.sleep(0.1)
