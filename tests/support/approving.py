"""People who decide with a browser: an operator, a web process, a provider to log in at, and requests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
from whenever import Instant

from hibernator.api.scheduleexception import ScheduleException
from hibernator.approvals import decision
from hibernator.audit.database import Database
from hibernator.controlplane.ports import free_port
from hibernator.kube import credentials
from hibernator.kube.client import Client
from hibernator.messages.links import hash_of, new_token
from support.account import operator_kubeconfig
from support.browser import Answer, Browser
from support.clock import ManualClock
from support.cluster import ClusterInTest
from support.exception_scenes import EVERY_DAY, ExceptionScene, exception, hours
from support.operators import Running
from support.plan_scenes import plan, workloads
from support.reading import Served, served
from support.scaler_scenes import workload
from support.webs import Webs, running_webs, web_settings

ALICE, BOB, CAROL, MALLORY = (f"{name}@company.com" for name in ("alice", "bob", "carol", "mallory"))
_ANALYSES = "/apis/aianalysis.kubernaut.ai/v1alpha1/namespaces/{}/aianalyses"
_REQUESTS = "/apis/remediation.kubernaut.ai/v1alpha1/namespaces/{}/remediationapprovalrequests"
_EXCEPTIONS = "/apis/hibernator.ardikabs.com/v1alpha1/namespaces/{}/scheduleexceptions"
_numbers = count(1)


@dataclass
class Approving:
    scene: ExceptionScene
    operator: Running
    webs: Webs

    def ask(
        self,
        *emails: str,
        by: str = ALICE,
        reason: str = "Release night",
        in_person: bool = False,
        **spec: Any,
    ) -> str:
        """Ask for the plan to stay awake tonight; returns the name of the request."""
        name = f"release-{next(_numbers)}"
        now = Instant.now()
        wanted = {
            "validFrom": now.add(hours=1).format_iso(unit="second"),
            "validUntil": now.add(hours=49).format_iso(unit="second"),
            "type": "suspend",
            "windows": hours("20:00", "23:00", EVERY_DAY),
            "reason": reason,
            "approvalRequired": True,
            "approverEmails": list(emails or (BOB,)),
        }
        own = (
            f"dev-{name.removeprefix('release-')}"  # several exceptions of one plan would wait for each other
        )
        schedule = {"timezone": "Europe/Berlin", "offHours": hours("20:00", "06:00", EVERY_DAY)}
        self.scene.create(plan(workloads("web", self.scene.namespace), name=own, schedule=schedule))
        asked = exception(name, own, by=by, **(wanted | spec))
        if in_person:
            self.scene.apply(asked)
        else:
            self.scene.create(asked)
        return name

    def ask_as_a_person(self, *emails: str) -> str:
        """The same where policies hold, which let nobody ask in the name of another."""
        return self.ask(*emails, in_person=True)

    def remediate(self, *emails: str) -> str:
        """Ask about a remediation; returns the name of the request."""
        name, namespace = f"checkout-oom-{next(_numbers)}", self.scene.namespace
        analysis = {
            "apiVersion": "aianalysis.kubernaut.ai/v1alpha1",
            "kind": "AIAnalysis",
            "metadata": {"name": name},
            "spec": {
                "analysis": {"confidence": 0.72, "recommendedPlaybook": "raise-memory", "signal": "OOMKilled"}
            },
        }
        self.scene.cluster.request("POST", _ANALYSES.format(namespace), analysis)
        approvers = [{"level": "L1", "emails": list(emails)}] if emails else []
        request = {
            "apiVersion": "remediation.kubernaut.ai/v1alpha1",
            "kind": "RemediationApprovalRequest",
            "metadata": {"name": name},
            "spec": {
                "aiAnalysisRef": {"name": name},
                "approvalContext": {
                    "confidence": 0.72,
                    "recommendedPlaybook": "raise-memory",
                    "reason": "The analysis is less than 80% sure.",
                },
                "requiredBy": Instant.now().add(hours=2).format_iso(unit="second"),
                **({"approvers": approvers} if approvers else {}),
            },
        }
        self.scene.cluster.request("POST", _REQUESTS.format(namespace), request)
        return name

    async def shown(self, name: str) -> str:
        """The path of a request's page, once operator and web process have seen the request."""
        uid = str(self.found(name)["metadata"]["uid"])
        await self.operator.settle()
        cases = self.webs.replicas[0].site.cases
        version = int(self.found(name)["metadata"]["resourceVersion"])
        await self.operator.until(
            lambda: (seen := cases.find(uid)) and int(seen.metadata.resource_version) >= version
        )
        return f"/approve/{uid}"

    def found(self, name: str) -> dict[str, Any]:
        if name.startswith("release"):
            return self.scene.one("ScheduleException", name)
        path = f"{_REQUESTS.format(self.scene.namespace)}/{name}"
        found: dict[str, Any] = self.scene.cluster.request("GET", path)
        return found

    async def link(self, name: str, who: str, expires: str = "2099-01-01T00:00:00Z") -> str:
        """What the web process keeps after it has sent a person a link; returns the token of it."""
        token, request = new_token(), self.found(name)
        uid, facts = request["metadata"]["uid"], self.webs.replicas[0].site.cases
        hashed = decision.matter_of(msgspec.convert(request, ScheduleException)).spec_hash
        asked = {"kind": "ScheduleException", "name": name, "uid": uid}
        body = {
            "apiVersion": "hibernator.ardikabs.com/v1alpha1",
            "kind": "ApprovalDelivery",
            "metadata": {"name": f"{uid}-{hash_of(who)[7:23]}"},
            "spec": {"request": asked, "recipient": who, "specHash": hashed, "asked": True},
        }
        path = _EXCEPTIONS.format(self.scene.namespace).replace("scheduleexceptions", "approvaldeliveries")
        cluster = self.scene.cluster
        made = cluster.request("POST", path, body)
        kept = {"hash": hash_of(token), "createdAt": "2019-12-01T00:00:00Z", "expiresAt": expires}
        sent = {
            "channel": "mail",
            "topic": "asked",
            "id": "<1@test>",
            "hash": hash_of("words"),
            "sentAt": "2019-12-01T00:00:00Z",
            "attempts": 1,
        }
        made["status"] = {"tokens": [kept], "messages": [sent]}
        cluster.request("PUT", f"{path}/{made['metadata']['name']}/status", made)
        await self.operator.until(
            lambda: any(one.status.tokens and one.spec.recipient == who for one in facts.sent_about(uid))
        )
        return token

    def forget(self, name: str) -> None:
        """Delete an exception, without waiting for it."""
        self.scene.cluster.request("DELETE", f"{_EXCEPTIONS.format(self.scene.namespace)}/{name}")

    def deliveries(self, name: str) -> dict[str, dict[str, Any]]:
        """What is recorded as sent about a request, by recipient."""
        path = _EXCEPTIONS.format(self.scene.namespace).replace("scheduleexceptions", "approvaldeliveries")
        found = self.scene.cluster.request("GET", path)["items"]
        return {one["spec"]["recipient"]: one for one in found if one["spec"]["request"]["name"] == name}

    def events(self, name: str) -> list[str]:
        """What the events about a request say."""
        path = f"/apis/events.k8s.io/v1/namespaces/{self.scene.namespace}/events"
        found = self.scene.cluster.request("GET", path)
        return [one["note"] for one in found["items"] if one["regarding"]["name"] == name]

    async def replace(self, name: str) -> None:
        """Delete an exception and ask for exactly the same under the same name."""
        before = self.found(name)
        self.forget(name)
        await self.operator.settle()  # it writes the deletion to the trail before it lets go
        kept = {key: before["metadata"][key] for key in ("name", "annotations") if key in before["metadata"]}
        self.scene.create({key: before[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": kept})

    def status(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.found(name).get("status", {})
        return found

    async def open(self, browser: Browser, who: str, path: str) -> Answer:
        """Log in and open a page."""
        return await self.webs.log_in(browser, who, path)

    async def send(
        self, browser: Browser, page: Answer, verdict: str, reason: str = "", **more: str
    ) -> Answer:
        """Send the form of a page."""
        fields = {name: page.field(name) for name in ("form_token", "spec_hash", "token")}
        form = fields | {"verdict": verdict, "reason": reason} | more
        return await browser.post(page.url.partition("?")[0], form)


@asynccontextmanager
async def _read_api(cluster: ClusterInTest, operator: Running, namespace: str) -> AsyncIterator[Served]:
    own = await asyncio.to_thread(operator_kubeconfig, cluster.kubeconfig)
    async with (
        Client(credentials.find(str(own))) as client,
        Database(operator.database, read_only=True) as database,
        served(client, database, namespace) as api,
    ):
        yield api


@asynccontextmanager
async def approving(
    cluster: ClusterInTest,
    namespace: str,
    issuer: str,
    folder: Path,
    web: Path | None = None,
    **settings: Any,
) -> AsyncIterator[Approving]:
    """All of it, under an address that a real browser reaches."""
    scene = ExceptionScene(cluster, namespace)
    scene.create(workload())
    port = free_port()
    clock, address = ManualClock(Instant.now()), folder / "trail"
    async with scene.operator(clock) as operator, _read_api(cluster, operator, namespace) as api:
        address.write_text(operator.database)
        (folder / "operator-ca.crt").write_bytes(api.authority)
        chosen = web_settings(
            folder,
            base_url=f"http://localhost:{port}",
            listen=f"127.0.0.1:{port}",
            oidc_issuer=issuer,
            oidc_client_id="hibernator-loopback",
            oidc_username_claim="email",
            watch_namespace=namespace,
            namespace=namespace,
            database_file=str(address),
            trail_url=api.url,
            trail_ca_file=str(folder / "operator-ca.crt"),
            **settings,
        )
        async with running_webs(web or cluster.kubeconfig, chosen) as webs:
            yield Approving(scene, operator, webs)
