"""moto's server in a process of its own: prints its port, and ends when its input does."""

import sys
from typing import Any

from moto.core.responses import EmptyResult
from moto.eks.models import EKSBackend
from moto.eks.responses import EKSResponse
from moto.server import ThreadedMotoServer


def teach_tags_of_node_groups() -> None:
    """Moto tags clusters only, and untags one key at a time. AWS knows more."""
    tag, untag = EKSBackend.tag_resource, EKSBackend.untag_resource

    def tags_of(backend: Any, arn: str) -> dict[str, str] | None:
        groups = (group for cluster in backend.clusters.values() for group in cluster.nodegroups.values())
        return next((group.tags for group in groups if group.arn == arn), None)

    def tag_resource(backend: Any, arn: str, more: dict[str, str]) -> None:
        found = tags_of(backend, arn)
        if found is None:
            tag(backend, arn, more)
        else:
            found.update(more)

    def untag_resource(response: Any) -> Any:
        arn, keys = response._extract_arn_from_path(), response.querystring["tagKeys"]
        found = tags_of(response.eks_backend, arn)
        if found is None:
            untag(response.eks_backend, arn, keys)
        else:
            for key in keys:
                found.pop(key, None)
        return EmptyResult()

    EKSBackend.tag_resource = tag_resource  # type: ignore[method-assign,assignment]
    EKSResponse.untag_resource = untag_resource  # type: ignore[method-assign,assignment]


def main() -> None:
    teach_tags_of_node_groups()
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    sys.stdout.write(f"{server.get_host_and_port()[1]}\n")
    sys.stdout.flush()
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()
