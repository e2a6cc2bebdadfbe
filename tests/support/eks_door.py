"""What EKS does at the door of its API servers: see who signed the token, and let them in as somebody."""

import base64
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from aiohttp import web
from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from support.aws import REGION
from support.faultproxy import Exchange, _end_to_end


@dataclass
class EksDoor:
    """For a fault proxy: `proxy.next(action=EksDoor(…), times=…)`."""

    aws: str  # where AWS would be asked
    cluster: str
    token: str  # of whoever one is inside
    secret: str = "very-secret"
    entered: list[str] = field(default_factory=list)

    async def act(self, exchange: Exchange) -> web.StreamResponse:
        request = exchange._request
        who = self._who(request.headers.get("Authorization", ""))
        if who is None:
            return web.json_response(
                {"kind": "Status", "reason": "Unauthorized", "message": "Unauthorized", "code": 401},
                status=401,
            )
        self.entered.append(who)
        headers = _end_to_end(request.headers)
        headers["Authorization"] = f"Bearer {self.token}"
        async with exchange._proxy.session.request(
            request.method,
            f"{exchange._proxy.upstream}{request.raw_path}",
            headers=headers,
            data=exchange._body or None,
        ) as answer:
            return web.Response(
                status=answer.status, headers=_end_to_end(answer.headers), body=await answer.read()
            )

    def _who(self, authorization: str) -> str | None:
        prefix = "Bearer k8s-aws-v1."
        if not authorization.startswith(prefix):
            return None
        packed = authorization.removeprefix(prefix)
        url = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)).decode()
        query = parse_qs(urlsplit(url).query)
        assert query["X-Amz-SignedHeaders"] == ["host;x-k8s-aws-id"]
        assert query["X-Amz-Expires"] == ["60"]
        assert query["Action"] == ["GetCallerIdentity"]
        assert url.startswith(self.aws)
        if query["X-Amz-Signature"] != [self._signature(url, query["X-Amz-Date"][0])]:
            return None
        return query["X-Amz-Credential"][0]

    def _signature(self, url: str, at: str) -> str:
        """What AWS would find the signature to be."""
        signer = SigV4QueryAuth(Credentials("test", self.secret), "sts", REGION)
        unsigned = url.partition("&X-Amz-Signature=")[0]
        request = AWSRequest(method="GET", url=unsigned, headers={"x-k8s-aws-id": self.cluster})
        request.context["timestamp"] = at
        canonical = signer.canonical_request(request)
        return str(signer.signature(signer.string_to_sign(request, canonical), request))
