"""A program that hands out credentials is run when it must be, and no more often."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from whenever import Instant, TimeDelta

from hibernator.controlplane import certs
from hibernator.kube import execplugin
from hibernator.kube.client import Client
from hibernator.kube.credentials import Credentials
from hibernator.kube.errors import BadCredentials, Unavailable
from hibernator.kube.kubeconfig import load
from support.cluster import ClusterInTest
from support.faultproxy import FaultProxy, admin_token
from support.faults import Answer
from support.kubeconfigs import ask_who_i_am, who_am_i, write_kubeconfig

_V1 = "client.authentication.k8s.io/v1"
_BETA = "client.authentication.k8s.io/v1beta1"
_START = Instant.from_utc(2026, 5, 4, 8)

# Writes down how it was called, and says what lies ready for it: the nth answer, or the last.
_PROGRAM = f"""#!{sys.executable}
import json, os, pathlib, sys
here = pathlib.Path(__file__).parent
calls = here / "calls"
number = len(calls.read_text().splitlines()) if calls.exists() else 0
with calls.open("a") as file:
    info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
    file.write(json.dumps([sys.argv[1:], os.environ.get("REGION"), info, sys.stdin.read()]) + "\\n")
answers = json.loads((here / "answers").read_text())
answer = answers[min(number, len(answers) - 1)]
if isinstance(answer, str):
    sys.exit(answer)
print(json.dumps(answer))
"""


class Plugin:
    """A program in a folder, the kubeconfig that names it, and a clock."""

    def __init__(self, cluster: ClusterInTest, folder: Path, server: str) -> None:
        self.of = cluster
        self.folder = folder
        self.time = _START
        self.about: dict[str, Any] = {"server": server, "certificate-authority": str(cluster.ca)}
        program = folder / "login"
        program.write_text(_PROGRAM)
        program.chmod(0o755)

    def answers(self, *answers: dict[str, Any] | str, version: str = _V1) -> None:
        whole = [
            each
            if isinstance(each, str)
            else {"apiVersion": version, "kind": "ExecCredential", "status": each}
            for each in answers
        ]
        (self.folder / "answers").write_text(json.dumps(whole))

    def credentials(self, **more: Any) -> Credentials:
        program = {"apiVersion": _V1, "command": "./login", "interactiveMode": "Never"} | more
        user = {"exec": {key: value for key, value in program.items() if value is not None}}
        file = write_kubeconfig(self.folder / "config", cluster=self.about, user=user)
        return Credentials(load([file]), now=lambda: self.time)

    def token(self, name: str, seconds: int | None = None) -> dict[str, Any]:
        until = {} if seconds is None else {"expirationTimestamp": str(_START + TimeDelta(seconds=seconds))}
        return {"token": admin_token(self.of, name)} | until

    def calls(self) -> list[Any]:
        file = self.folder / "calls"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture
def plugin(cluster: ClusterInTest, tmp_path: Path, proxy: FaultProxy) -> Plugin:
    server = json.loads(proxy.kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    return Plugin(cluster, tmp_path, server)


@pytest.mark.parametrize("version", [_V1, _BETA])
async def test_a_token_of_a_program_lets_us_in(plugin: Plugin, version: str) -> None:
    plugin.answers(plugin.token("exec"), version=version)
    arguments = {"args": ["get-token", "-i", "x"], "env": [{"name": "REGION", "value": "eu"}]}
    me = await who_am_i(plugin.credentials(apiVersion=version, **arguments))
    assert me.username.endswith(":exec")
    assert plugin.calls() == [
        [
            ["get-token", "-i", "x"],
            "eu",
            {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False}},
            "",
        ]
    ]


async def test_a_certificate_of_a_program_lets_us_in(plugin: Plugin) -> None:
    plugin.about["server"] = plugin.of.url  # the proxy would end the TLS that the certificate is for
    layout = plugin.of.layout
    plugin.answers(
        {
            "clientCertificateData": layout.cert(certs.ADMIN).read_text(),
            "clientKeyData": layout.key(certs.ADMIN).read_text(),
        }
    )
    assert (await who_am_i(plugin.credentials())).username == "hibernator-admin"


async def test_an_answer_is_kept_until_it_expires(plugin: Plugin) -> None:
    plugin.answers(plugin.token("early", 60), plugin.token("late", 3600))
    async with Client(plugin.credentials()) as client:
        for seconds, name in ((0, "early"), (59, "early"), (60, "late"), (61, "late")):
            plugin.time = _START + TimeDelta(seconds=seconds)
            assert (await ask_who_i_am(client)).username.endswith(name)
    assert len(plugin.calls()) == 2


async def test_an_answer_without_an_end_is_kept(plugin: Plugin) -> None:
    plugin.answers(plugin.token("exec"))
    async with Client(plugin.credentials()) as client:
        await ask_who_i_am(client)
        plugin.time = _START + TimeDelta(hours=1000)
        await ask_who_i_am(client)
    assert len(plugin.calls()) == 1


async def test_after_a_401_the_program_is_asked_once_however_many_requests_were_refused(
    plugin: Plugin, proxy: FaultProxy
) -> None:
    plugin.answers(plugin.token("early", 3600), plugin.token("late", 3600))
    async with Client(plugin.credentials()) as client:
        await ask_who_i_am(client)
        proxy.next(path="selfsubjectreviews", action=Answer(401, "Unauthorized"), times=5)
        found = await asyncio.gather(*(ask_who_i_am(client) for _ in range(5)))
    assert [me.username.rpartition(":")[2] for me in found] == ["late"] * 5
    assert len(plugin.calls()) == 2


async def test_many_requests_at_the_start_run_the_program_once(plugin: Plugin) -> None:
    plugin.answers(plugin.token("exec"))
    async with Client(plugin.credentials()) as client:
        await asyncio.gather(*(ask_who_i_am(client) for _ in range(5)))
    assert len(plugin.calls()) == 1


async def test_the_program_learns_of_its_cluster_if_it_asks(plugin: Plugin) -> None:
    plugin.answers(plugin.token("exec"))
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
    plugin.about |= {"tls-server-name": "kubernetes", "extensions": [extension]}
    await who_am_i(plugin.credentials(provideClusterInfo=True))
    told = plugin.calls()[0][2]["spec"]["cluster"]
    assert told.pop("certificate-authority-data").startswith("LS0t")
    assert told == {
        "server": plugin.about["server"],
        "tls-server-name": "kubernetes",
        "config": {"audience": "x"},
    }


async def test_a_program_that_needs_a_person_is_not_run_without_one(plugin: Plugin) -> None:
    with pytest.raises(BadCredentials, match="interactiveMode Always and needs a terminal"):
        await who_am_i(plugin.credentials(interactiveMode="Always"))
    assert plugin.calls() == []


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "v1alpha1'; use one of client.auth"),
        ({"interactiveMode": None}, "interactiveMode ''; use one of Never, IfAvailable, Always"),
        ({"interactiveMode": "Sometimes"}, "interactiveMode 'Sometimes'"),
    ],
)
def test_a_section_that_is_wrong_is_told_at_once(plugin: Plugin, more: dict[str, Any], told: str) -> None:
    with pytest.raises(BadCredentials, match=told):
        plugin.credentials(**more)


async def test_a_missing_program_is_told_with_the_hint_how_to_get_it(plugin: Plugin) -> None:
    missing = plugin.credentials(command="no-such-login", installHint="Get it from example.org.")
    with pytest.raises(BadCredentials, match=r"no-such-login cannot be run: No such file.*\nGet it from"):
        await who_am_i(missing)


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ({}, "neither a token nor a certificate"),
        ({"clientCertificateData": "x"}, "a certificate or a key without the other"),
        ({"token": 5}, "did not answer with an ExecCredential: Expected `str`"),
    ],
)
async def test_an_answer_that_is_no_use_is_told(plugin: Plugin, status: dict[str, Any], told: str) -> None:
    plugin.answers(status)
    with pytest.raises(BadCredentials, match=told):
        await who_am_i(plugin.credentials())


async def test_an_answer_of_another_version_is_told(plugin: Plugin) -> None:
    plugin.answers(plugin.token("exec"), version=_BETA)
    with pytest.raises(BadCredentials, match=r"v1beta1, but the kubeconfig says apiVersion .*/v1"):
        await who_am_i(plugin.credentials())


async def test_a_program_that_fails_is_not_run_again_at_once(plugin: Plugin) -> None:
    plugin.answers("please log in first")
    async with Client(plugin.credentials()) as client:
        for _ in range(3):
            with pytest.raises(Unavailable, match="exit code 1: please log in first"):
                await ask_who_i_am(client)
    assert len(plugin.calls()) == 1


async def test_a_program_that_hangs_is_ended(plugin: Plugin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execplugin, "_DEADLINE", 0.1)
    with pytest.raises(Unavailable, match="gave no credentials within 0 s"):
        await who_am_i(plugin.credentials(command="sleep", args=["1000"]))
