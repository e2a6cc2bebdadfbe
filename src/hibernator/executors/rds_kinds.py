"""What instances and clusters are called in the API of RDS, and which of them AWS does not stop."""

from dataclasses import dataclass
from typing import Final

from hibernator.executors.aws import Document


@dataclass(frozen=True, slots=True)
class Sort:
    label: str  # the first part of an item's key
    words: str
    id: str
    arn: str
    resource_id: str
    state: str
    list: str
    things: str
    stop: str
    start: str
    take_snapshot: str
    list_snapshots: str
    snapshots: str
    snapshot_id: str
    stops_with_snapshot: bool  # in one call
    not_found: frozenset[str]

    def name_of(self, thing: Document) -> str:
        return str(thing[self.id])

    def state_of(self, thing: Document) -> str:
        return str(thing.get(self.state, ""))


INSTANCE: Final = Sort(
    label="instance",
    words="database instance",
    id="DBInstanceIdentifier",
    arn="DBInstanceArn",
    resource_id="DbiResourceId",
    state="DBInstanceStatus",
    list="describe_db_instances",
    things="DBInstances",
    stop="stop_db_instance",
    start="start_db_instance",
    take_snapshot="create_db_snapshot",
    list_snapshots="describe_db_snapshots",
    snapshots="DBSnapshots",
    snapshot_id="DBSnapshotIdentifier",
    stops_with_snapshot=True,
    not_found=frozenset({"DBInstanceNotFound", "DBInstanceNotFoundFault"}),
)
CLUSTER: Final = Sort(
    label="cluster",
    words="database cluster",
    id="DBClusterIdentifier",
    arn="DBClusterArn",
    resource_id="DbClusterResourceId",
    state="Status",
    list="describe_db_clusters",
    things="DBClusters",
    stop="stop_db_cluster",
    start="start_db_cluster",
    take_snapshot="create_db_cluster_snapshot",
    list_snapshots="describe_db_cluster_snapshots",
    snapshots="DBClusterSnapshots",
    snapshot_id="DBClusterSnapshotIdentifier",
    stops_with_snapshot=False,
    not_found=frozenset({"DBClusterNotFound", "DBClusterNotFoundFault"}),
)

_HOPELESS: Final = {
    "failed",
    "inaccessible-encryption-credentials",
    "incompatible-create",
    "incompatible-network",
    "incompatible-option-group",
    "incompatible-parameters",
    "incompatible-restore",
    "insufficient-capacity",
    "restore-error",
    "storage-full",
}


def why_never(sort: Sort, thing: Document) -> str:
    """Why AWS will not stop this one, as the rest of a sentence; empty when it will."""
    if (state := sort.state_of(thing)) in _HOPELESS:
        return f"is {state}, in which AWS stops nothing. Repair it first."
    if sort is CLUSTER:
        return _why_never_cluster(thing)
    if source := thing.get("ReadReplicaSourceDBInstanceIdentifier"):
        return f"is a read replica of {source}, which AWS does not stop. Leave it out of the selector."
    if replicas := thing.get("ReadReplicaDBInstanceIdentifiers"):
        return (
            f"has the read replicas {', '.join(replicas)}; AWS does not stop it while they are there. "
            "Leave it out of the selector, or remove them."
        )
    if thing.get("MultiAZ") and str(thing.get("Engine", "")).startswith("sqlserver"):
        return "is an SQL Server in several zones, which AWS does not stop. Leave it out of the selector."
    return ""


def _why_never_cluster(thing: Document) -> str:
    if (mode := thing.get("EngineMode", "")) in {"serverless", "multimaster"}:
        return f"runs in the engine mode {mode}, in which AWS stops nothing. Leave it out of the selector."
    if thing.get("GlobalClusterIdentifier"):
        return "belongs to a global database, which AWS does not stop. Leave it out of the selector."
    if source := thing.get("ReplicationSourceIdentifier"):
        return f"is a replica of {source}, which AWS does not stop. Leave it out of the selector."
    return ""
