"""The few requests that a control plane's own tools make as its admin.

Neither aiohttp nor the operator's client: this package stands below both, and asks one thing at a time.
"""

import http.client
import json
import ssl
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


class RequestError(Exception):
    """The API server answered with an error; its `Status` message is the text."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Access:
    url: str
    ca: Path
    cert: Path
    key: Path
    timeout: float = 30  # seconds

    def request(self, method: str, path: str, body: object = None) -> Any:
        """Send one request and return the decoded answer, or its text where that is no JSON.

        A PATCH is a merge patch.
        """
        context = _trusting(self.ca, self.cert, self.key)
        address = urlsplit(self.url)
        connection = http.client.HTTPSConnection(
            str(address.hostname), address.port, timeout=self.timeout, context=context
        )
        try:
            content = None if body is None else json.dumps(body)
            kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
            connection.request(method, path, content, {"Content-Type": kind})
            response = connection.getresponse()
            answer = _decoded(response)
        finally:
            connection.close()
        if response.status >= http.HTTPStatus.BAD_REQUEST:
            message = answer.get("message", "") if isinstance(answer, dict) else answer
            raise RequestError(response.status, str(message))
        return answer


@cache
def _trusting(ca: Path, cert: Path, key: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(ca))
    context.load_cert_chain(cert, key)
    return context


def _decoded(response: http.client.HTTPResponse) -> Any:
    text = response.read().decode()
    is_json = response.headers.get_content_type() == "application/json"
    return json.loads(text) if is_json else text


_RESOURCES = {"cpu": "32", "memory": "256Gi", "pods": "110"}


def node_name(number: int) -> str:
    return f"node-{number}"


def node_exists(access: Access, number: int) -> bool:
    """Make the node; may be repeated after a lost answer."""
    try:
        access.request("POST", "/api/v1/nodes", _manifest(node_name(number)))
    except RequestError as error:
        if error.code != HTTPStatus.CONFLICT:
            raise
    return True


def node_accepts_pods(access: Access, number: int) -> bool:
    """Whether it is ready and the node controller has taken the taint of a new node from it."""
    node: dict[str, Any] = access.request("GET", f"/api/v1/nodes/{node_name(number)}")
    conditions = {each["type"]: each["status"] for each in node["status"].get("conditions", ())}
    return conditions.get("Ready") == "True" and not node["spec"].get("taints")


def _manifest(node: str) -> dict[str, object]:
    labels = {
        "kubernetes.io/hostname": node,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "type": "kwok",
    }
    return {
        "metadata": {"name": node, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "status": {"capacity": _RESOURCES, "allocatable": _RESOURCES},
    }
