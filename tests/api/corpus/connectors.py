"""CloudProviders and K8SClusters."""

from api.corpus.cases import Bad, Good
from api.objects import aws, eks_cluster, k8s_cluster, provider, without

GOOD = [
    Good("an account with the operator's identity", provider()),
    Good(
        "an account with keys",
        provider(aws=aws({"static": {"secretRef": {"name": "keys"}}}, endpointURL="http://localhost:5000")),
    ),
    Good(
        "a project",
        without(
            provider(type="gcp", gcp={"project": "shop-dev", "auth": {"serviceAccount": {}}}), "spec", "aws"
        ),
    ),
    Good("the operator's own cluster", k8s_cluster(inCluster=True)),
    Good("a cluster by its kubeconfig", k8s_cluster(kubeconfigRef={"name": "staging"})),
    Good("a cluster at a cloud, and plainly not the own", k8s_cluster(inCluster=False, eks=eks_cluster())),
]

BAD = [
    Bad(
        "an account without its block",
        without(provider(), "spec", "aws"),
        "type is aws: set aws, and no other block",
        "spec.aws",
    ),
    Bad(
        "an account of two clouds",
        provider(gcp={"project": "shop-dev", "auth": {"serviceAccount": {}}}),
        "type is aws: set aws, and no other block",
        "spec.gcp",
    ),
    Bad("an account at a third cloud", provider(type="azure"), 'supported values: "aws", "gcp"', "spec.type"),
    Bad(
        "an account without a way in",
        provider(aws=aws({})),
        "Set exactly one of serviceAccount and static",
        "spec.aws.auth",
    ),
    Bad(
        "an account with two ways in",
        provider(aws=aws({"serviceAccount": {}, "static": {"secretRef": {"name": "keys"}}})),
        "Set exactly one of serviceAccount and static",
        "spec.aws.auth",
    ),
    Bad(
        "a number of an account that is too short",
        provider(aws=aws(accountId="12345")),
        "spec.aws.accountId",
        "spec.aws.accountId",
    ),
    Bad(
        "a number of an account without quotes",
        provider(aws=aws(accountId=123456789012)),
        "spec.aws.accountId",
        "spec.aws.accountId",
    ),
    Bad(
        "a role that is none",
        provider(aws=aws(assumeRoleArn="admin")),
        "spec.aws.assumeRoleArn",
        "spec.aws.assumeRoleArn",
    ),
    Bad(
        "an address without a scheme",
        provider(aws=aws(endpointURL="localhost:5000")),
        "spec.aws.endpointURL",
        "spec.aws.endpointURL",
    ),
    Bad(
        "no cluster at all", k8s_cluster(), "Set exactly one of inCluster, kubeconfigRef, eks and gke", "spec"
    ),
    Bad(
        "not even the own cluster",
        k8s_cluster(inCluster=False),
        "Set exactly one of inCluster, kubeconfigRef, eks and gke",
        "spec",
    ),
    Bad(
        "two clusters in one",
        k8s_cluster(inCluster=True, eks=eks_cluster()),
        "Set exactly one of inCluster, kubeconfigRef, eks and gke",
        "spec",
    ),
]
