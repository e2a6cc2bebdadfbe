"""CloudProvider: an account at a cloud, and how the operator gets in."""

from typing import Annotated, Literal

import msgspec

from hibernator.api.kind import DOMAIN, Kind
from hibernator.api.meta import (
    AllowedNamespaces,
    ConnectorStatus,
    Model,
    Object,
    SecretReference,
    rule,
    says,
)

CloudType = Literal["aws", "gcp"]

EndpointURL = Annotated[
    str | None,
    says(
        "Where the cloud's API answers, when it is not the public address.",
        pattern=r"^https?://\S+$",
        maxLength=2048,
    ),
]


class ServiceAccountAuth(Model):
    """The identity that the operator's own Pod has; nothing more needs to be said."""


class StaticAuth(Model):
    secret_ref: Annotated[SecretReference, says("Where the keys are.")]


class CloudAuth(Model):
    RULES = (
        rule(
            "has(self.serviceAccount) != has(self.static)",
            "Set exactly one of serviceAccount and static",
        ),
    )

    service_account: Annotated[
        ServiceAccountAuth | None,
        says("Use the identity that the cloud gives to the operator's service account. Write `{}`."),
    ] = None
    static: Annotated[StaticAuth | None, says("Use keys from a Secret.")] = None


class Aws(Model):
    account_id: Annotated[
        str, says("The account, as twelve digits in quotes.", pattern="^[0-9]{12}$", maxLength=12)
    ]
    region: Annotated[str, says("The region, such as `eu-central-1`.", pattern="^[a-z0-9-]+$", maxLength=32)]
    auth: Annotated[CloudAuth, says("How to get in.")]
    assume_role_arn: Annotated[
        str | None,
        says(
            "A role to take on after getting in.",
            pattern=r"^arn:[a-z0-9-]+:iam::[0-9]{12}:role/\S+$",
            maxLength=2048,
        ),
    ] = None
    endpoint_url: EndpointURL = msgspec.field(default=None, name="endpointURL")


class Gcp(Model):
    project: Annotated[
        str, says("The id of the project.", pattern="^[a-z][a-z0-9:.-]*[a-z0-9]$", maxLength=63)
    ]
    auth: Annotated[CloudAuth, says("How to get in.")]
    endpoint_url: EndpointURL = msgspec.field(default=None, name="endpointURL")


class CloudProviderSpec(Model):
    RULES = (
        rule(
            "self.type == 'aws' ? has(self.aws) && !has(self.gcp) : has(self.gcp) && !has(self.aws)",
            "Set the block that type names, and no other",
            naming="'type is ' + self.type + ': set ' + self.type + ', and no other block'",
        ),
    )

    type: Annotated[CloudType, says("Which cloud it is.")]
    aws: Annotated[Aws | None, says("For `aws`: the account.")] = None
    gcp: Annotated[Gcp | None, says("For `gcp`: the project.")] = None
    allowed_namespaces: AllowedNamespaces = ()

    @property
    def block(self) -> Aws | Gcp | None:
        """The one that `type` names."""
        return self.aws or self.gcp


class CloudProvider(Object, kw_only=True):
    """An account at a cloud whose resources can sleep."""

    spec: Annotated[CloudProviderSpec, says("Which account it is, and how to get in.")]
    status: Annotated[ConnectorStatus, says("Whether the credentials work, tried by the operator.")] = (
        ConnectorStatus()
    )


PROVIDERS = Kind(CloudProvider, DOMAIN, "v1alpha1", "CloudProvider", "cloudproviders")
