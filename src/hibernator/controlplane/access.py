"""The few requests that a control plane's own tools make as its admin.

Neither aiohttp nor the operator's client: this package stands below both, and asks one thing at a time.
"""

import http.client
import json
import ssl
from dataclasses import dataclass
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
        """Send one request and return the decoded answer, or its text where that is no JSON."""
        context = ssl.create_default_context(cafile=str(self.ca))
        context.load_cert_chain(self.cert, self.key)
        address = urlsplit(self.url)
        connection = http.client.HTTPSConnection(
            str(address.hostname), address.port, timeout=self.timeout, context=context
        )
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = _decoded(response)
        finally:
            connection.close()
        if response.status >= http.HTTPStatus.BAD_REQUEST:
            message = answer.get("message", "") if isinstance(answer, dict) else answer
            raise RequestError(response.status, str(message))
        return answer


def _decoded(response: http.client.HTTPResponse) -> Any:
    text = response.read().decode()
    is_json = response.headers.get_content_type() == "application/json"
    return json.loads(text) if is_json else text
