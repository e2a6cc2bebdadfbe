"""The settings of the web process; flags, environment and file are three ways to say the same.

A secret is never a setting: only the file that holds it is.
"""

import re
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

import msgspec

from hibernator.settings import Schema, SettingsError, check_address
from hibernator.web.checks import check_certificates, check_encrypted, check_readable, check_secret
from hibernator.web.pricing import prices_of

_TEAM: Final = re.compile(r"[TE][A-Z0-9]{2,20}")
_ROOM: Final = re.compile(r"[CG][A-Z0-9]{6,}")
_HOST: Final = re.compile(r"[-.:A-Za-z0-9\[\]]+")
_LABEL: Final = r"[^\W_](-*[^\W_])*"  # also of other scripts: providers write bücher.de or xn--bcher-kva.de
_DOMAIN: Final = re.compile(rf"{_LABEL}(\.{_LABEL})+")


class Settings(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    kubeconfig: Annotated[
        str, "The kubeconfig to use; without one, the usual places and then the pod's own account."
    ] = ""
    context: Annotated[str, "The context of the kubeconfig; without one, its current context."] = ""
    namespace: Annotated[
        str, "The process's own namespace, where its Leases and the ConfigMap of roles are."
    ] = "hibernator-system"
    watch_namespace: Annotated[str, "The only namespace to serve; without one, all of them."] = ""
    listen: Annotated[str, "Where pages are served, as host:port."] = "0.0.0.0:8081"
    metrics_listen: Annotated[str, "Where health and metrics are served, as host:port."] = "0.0.0.0:8080"
    base_url: Annotated[
        str, "The address under which people reach the pages, such as https://hibernator.company.com."
    ] = ""
    certificates: Annotated[
        str,
        "A folder with tls.crt and tls.key to serve pages with, as cert-manager mounts it; without one, an "
        "ingress in front brings TLS.",
    ] = ""
    trusted_proxies: Annotated[
        str,
        "The networks of the proxies whose X-Forwarded-For is believed, with commas between: "
        "10.0.0.0/8,fd00::/8.",
    ] = ""
    log_format: Annotated[
        Literal["auto", "console", "json"],
        "How to log: `auto` is for people on a terminal, else for machines.",
    ] = "auto"
    log_level: Annotated[Literal["debug", "info", "warning", "error"], "The least that is logged."] = "info"
    leader_elect: Annotated[
        bool, "Take part in the election of a leader. Switch it off only where one replica runs."
    ] = True
    session_key_file: Annotated[
        str,
        "A file with the keys that seal sessions, one on each line (`openssl rand -base64 32`). The first "
        "seals, all open. Without the old keys, all users are logged out.",
    ] = ""
    fresh_login_minutes: Annotated[
        int,
        msgspec.Meta(ge=0, le=480),
        "How recent a log-in must be for a decision; 0 accepts any session.",
    ] = 0
    allowed_email_domains: Annotated[
        str,
        "The domains whose e-mail addresses may log in and get mails about requests, with commas between; "
        "without any, all.",
    ] = ""
    oidc_issuer: Annotated[str, "The issuer of the OpenID Connect provider, exactly as it names itself."] = ""
    oidc_client_id: Annotated[str, "The client id that the provider gave."] = ""
    oidc_client_secret_file: Annotated[
        str, "The file with the client secret; without one, the client is a public one (PKCE only)."
    ] = ""
    oidc_ca_file: Annotated[
        str,
        "A file with the certificates to trust for the provider, as PEM; without one, those of the system.",
    ] = ""
    oidc_scopes: Annotated[str, "The scopes to ask for, with spaces between."] = "openid email profile"
    oidc_username_claim: Annotated[
        str, "The claim that is the user name in Kubernetes, as kube-apiserver's --oidc-username-claim."
    ] = "sub"
    oidc_username_prefix: Annotated[
        str,
        "What is put before user names, as kube-apiserver's --oidc-username-prefix: without one, the issuer "
        "and # unless the claim is `email`; `-` puts nothing before them.",
    ] = ""
    oidc_groups_claim: Annotated[
        str, "The claim with the groups, as kube-apiserver's --oidc-groups-claim; without one, no groups."
    ] = ""
    oidc_groups_prefix: Annotated[
        str, "What is put before groups, as kube-apiserver's --oidc-groups-prefix."
    ] = ""
    oidc_required_claims: Annotated[
        str,
        "What the log-in must say, as claim=value with commas between: hd=company.com, or groups=staff where "
        "the claim is a list.",
    ] = ""
    oidc_require_verified_email: Annotated[
        bool, "Let in only whose `email_verified` is true. Switch it off only where the provider sends none."
    ] = True
    saml_idp_metadata_file: Annotated[str, "The file with the metadata of the SAML identity provider."] = ""
    saml_entity_id: Annotated[
        str, "The name of this service at the identity provider; without one, BASE_URL/saml/metadata."
    ] = ""
    saml_allow_unsolicited: Annotated[
        bool, "Accept log-ins that start at the identity provider's portal, without a request of ours."
    ] = False
    smtp_url: Annotated[
        str,
        "The mail server: smtp://user@host:587?tls=starttls, or smtps://user@host:465; without one, no "
        "mail is sent.",
    ] = ""
    smtp_password_file: Annotated[str, "The file with the password at the mail server."] = ""
    smtp_ca_file: Annotated[
        str,
        "A file with the certificates to trust for the mail server, as PEM; without one, those of the "
        "system.",
    ] = ""
    mail_from: Annotated[str, "The address that mails come from."] = ""
    slack_bot_token_file: Annotated[
        str, "The file with the bot token of the Slack app (xoxb-…); without one, nothing is sent to Slack."
    ] = ""
    slack_signing_secret_file: Annotated[
        str,
        "The file with the signing secret of the Slack app, for clicks that come to "
        "BASE_URL/slack/interactions.",
    ] = ""
    slack_app_token_file: Annotated[
        str, "The file with the app-level token (xapp-…), for clicks over Socket Mode."
    ] = ""
    slack_api_url: Annotated[str, "Where Slack's Web API is."] = "https://slack.com/api/"
    slack_mode: Annotated[
        Literal["buttons", "links", "notify"],
        "What people find in Slack: `links` leads to the log-in, `buttons` decides in Slack, `notify` only "
        "informs.",
    ] = "links"
    slack_team_id: Annotated[
        str, "The id of the workspace (T…) or organisation (E…) whose people may be asked and may decide."
    ] = ""
    slack_channel: Annotated[
        str,
        "The id of a channel (C…) in which each request is posted, without buttons.",
    ] = ""
    database_file: Annotated[
        str,
        "A file that holds the URL of the audit database, for a role that can only read; without it and "
        "trailUrl, pages show no audit trail.",
    ] = ""
    trail_url: Annotated[
        str,
        "Where the operator serves what restore data says, and the audit trail where databaseFile names no "
        "database, such as https://hibernator-webhook.hibernator-system.svc:9444.",
    ] = ""
    trail_ca_file: Annotated[
        str,
        "A file with the certificates to trust for trailUrl, as PEM; without one, those that the operator "
        "publishes in the ConfigMap hibernator-trail-ca.",
    ] = ""
    prices_file: Annotated[
        str, "A file with prices, as that of `hibernator savings --prices`; without one, list prices count."
    ] = ""
    notification_networks: Annotated[
        str,
        "The networks inside of the cluster or company that sinks of notifications may be in, with commas "
        "between; plain http is accepted there and nowhere else. Without any, sinks are in the Internet.",
    ] = ""
    notification_mail_domains: Annotated[
        str,
        "The domains that sinks of type email may write to, with commas between; without any, all.",
    ] = ""
    web_authorization: Annotated[
        Literal["asked", "rbac"],
        "Who may decide: `asked` is who is asked by e-mail or role; `rbac` wants the verb `approve` in "
        "Kubernetes besides.",
    ] = "asked"
    approver_emails: Annotated[
        str, "How a user name becomes an e-mail address, as the operator's setting of this name."
    ] = "as-is"
    approver_roles: Annotated[
        str, "The ConfigMap with the members of each role, as the operator's setting of this name."
    ] = "hibernator-roles"
    approval_of_own_requests: Annotated[
        bool, "Let requesters approve their own requests, as the operator's setting of this name."
    ] = False


SCHEMA: Final = Schema(Settings, "HIBERNATOR_WEB_", "hibernator web --help")


def settings(flags: Mapping[str, Any], environment: Mapping[str, str], file: Path | None = None) -> Settings:
    """What all the sources make together, checked."""
    found = SCHEMA.read(flags, environment, file)
    for check in (_where, _sessions, _log_ins, _people, _mail, _slack, _trail):
        check(found)
    return msgspec.structs.replace(found, base_url=_origin(found.base_url))


def domains(found: Settings) -> frozenset[str]:
    """The domains whose people may log in; none means all."""
    return frozenset(_words(found.allowed_email_domains.lower()))


def proxies(found: Settings) -> tuple[IPv4Network | IPv6Network, ...]:
    return tuple(ip_network(word) for word in _words(found.trusted_proxies))


def mail_domains(found: Settings) -> frozenset[str]:
    """The domains that notifications may be mailed to; none means all."""
    return frozenset(_words(found.notification_mail_domains.lower()))


def notification_networks(found: Settings) -> tuple[IPv4Network | IPv6Network, ...]:
    return tuple(ip_network(word) for word in _words(found.notification_networks))


def required_claims(found: Settings) -> tuple[tuple[str, str], ...]:
    parts = (word.partition("=") for word in _words(found.oidc_required_claims))
    return tuple((claim.strip(), value.strip()) for claim, _, value in parts)


def secret(path: str) -> str:
    """The current text of a file: a Secret may be replaced while the process runs."""
    return Path(path).read_text("utf-8").strip()


def _where(found: Settings) -> None:
    check_address("listen", found.listen)
    check_address("metricsListen", found.metrics_listen)
    if not found.base_url:
        raise SettingsError(
            "baseUrl is missing: write the address under which people reach the pages, for example "
            "--base-url https://hibernator.company.com."
        )
    try:
        url = urlsplit(found.base_url)
        url.port  # noqa: B018 — reading it checks it
    except ValueError as error:
        raise SettingsError(f"baseUrl is {found.base_url!r}: {error}.") from error
    if not url.hostname or url.path.rstrip("/") or url.query or url.fragment or url.username:
        raise SettingsError(
            f"baseUrl is {found.base_url!r}: write a scheme and a host only, for example "
            "https://hibernator.company.com."
        )
    if not _HOST.fullmatch(url.netloc):
        raise SettingsError(
            f"baseUrl is {found.base_url!r}: write it as browsers do, with xn-- for letters of other scripts."
        )
    check_encrypted("baseUrl", found.base_url)
    if found.certificates:
        for name in ("tls.crt", "tls.key"):
            check_readable("certificates", str(Path(found.certificates) / name))
    for name, networks in (
        ("trustedProxies", found.trusted_proxies),
        ("notificationNetworks", found.notification_networks),
    ):
        for word in _words(networks):
            try:
                ip_network(word)
            except ValueError as error:
                raise SettingsError(f"{name} is {networks!r}: {error}. {_NETWORKS}") from error


def _origin(address: str) -> str:
    """As browsers write it in Origin: small letters, and no port that goes without saying."""
    url = urlsplit(address)
    host = f"[{url.hostname}]" if ":" in (url.hostname or "") else url.hostname
    said = url.port and url.port != {"https": 443, "http": 80}[url.scheme]
    return f"{url.scheme}://{host}:{url.port}" if said else f"{url.scheme}://{host}"


_NETWORKS: Final = "Write networks with commas between, for example 10.0.0.0/8,fd00::/8."


def _sessions(found: Settings) -> None:
    if not found.session_key_file:
        raise SettingsError(
            "sessionKeyFile is missing: name a file with a key on each line, made by "
            "`openssl rand -base64 32`."
        )
    check_readable("sessionKeyFile", found.session_key_file)
    from hibernator.web.sealing import read_keys

    try:
        read_keys(Path(found.session_key_file))
    except ValueError as error:
        raise SettingsError(f"sessionKeyFile is {found.session_key_file!r}: {error}.") from error


def _log_ins(found: Settings) -> None:
    if not (found.oidc_issuer or found.saml_idp_metadata_file):
        raise SettingsError(
            "oidcIssuer and samlIdpMetadataFile are missing: no one could log in. Set one of them, or both."
        )
    if found.oidc_issuer:
        check_encrypted("oidcIssuer", found.oidc_issuer)
        if not found.oidc_client_id:
            raise SettingsError("oidcClientId is missing: write the client id that the provider gave.")
        if "openid" not in found.oidc_scopes.split():
            raise SettingsError(f"oidcScopes is {found.oidc_scopes!r}: it must contain openid.")
    if found.oidc_client_secret_file:
        check_secret("oidcClientSecretFile", found.oidc_client_secret_file)
    if found.saml_idp_metadata_file:
        check_readable("samlIdpMetadataFile", found.saml_idp_metadata_file)
    check_certificates("oidcCaFile", found.oidc_ca_file)


def _people(found: Settings) -> None:
    for name, named in (
        ("allowedEmailDomains", domains(found)),
        ("notificationMailDomains", mail_domains(found)),
    ):
        for domain in named:
            if not _DOMAIN.fullmatch(domain):
                raise SettingsError(
                    f"{name} has {domain!r}: write domains with commas between, for example "
                    "company.com,company.co.uk."
                )
    for claim, value in required_claims(found):
        if not (claim and value):
            raise SettingsError(
                f"oidcRequiredClaims is {found.oidc_required_claims!r}: write claim=value, for example "
                "hd=company.com."
            )


def _mail(found: Settings) -> None:
    from hibernator.messages.smtp import read_sender, read_server

    if found.smtp_url and not found.mail_from:
        raise SettingsError("mailFrom is missing: write the address that mails come from.")
    if found.smtp_password_file:
        check_secret("smtpPasswordFile", found.smtp_password_file)
    check_certificates("smtpCaFile", found.smtp_ca_file)
    try:
        if found.smtp_url:
            read_server(found.smtp_url, found.smtp_password_file)
    except ValueError as error:
        raise SettingsError(f"smtpUrl cannot be used: {error}.") from error
    try:
        if found.mail_from:
            read_sender(found.mail_from)
    except ValueError as error:
        raise SettingsError(f"mailFrom is {found.mail_from!r}: {error}.") from error


def _slack(found: Settings) -> None:
    ways = (found.slack_signing_secret_file, found.slack_app_token_file)
    if not found.slack_bot_token_file:
        if any((*ways, found.slack_channel)):
            raise SettingsError("slackBotTokenFile is missing: name the file with the bot token of the app.")
        return
    check_encrypted("slackApiUrl", found.slack_api_url)
    if not _TEAM.fullmatch(found.slack_team_id):
        raise SettingsError(
            f"slackTeamId is {found.slack_team_id!r}: write the id of the workspace, for example T024BE7LD."
        )
    if found.slack_channel and not _ROOM.fullmatch(found.slack_channel):
        raise SettingsError(
            f"slackChannel is {found.slack_channel!r}: write the id of the channel, for example C024BE91L, "
            "which Slack shows below its details."
        )
    if found.slack_mode == "buttons" and not any(ways):
        raise SettingsError(
            "slackMode is 'buttons', and no click could come in: set slackSigningSecretFile, "
            "slackAppTokenFile, or both."
        )
    for name, path in (
        ("slackBotTokenFile", found.slack_bot_token_file),
        ("slackSigningSecretFile", found.slack_signing_secret_file),
        ("slackAppTokenFile", found.slack_app_token_file),
    ):
        if path:
            check_secret(name, path)


def _trail(found: Settings) -> None:
    if found.trail_url:
        url = urlsplit(found.trail_url)
        if url.scheme != "https" or not url.hostname or url.path.rstrip("/") or url.query:
            raise SettingsError(
                f"trailUrl is {found.trail_url!r}: write https://, a host and a port, for example "
                "https://hibernator-webhook.hibernator-system.svc:9444."
            )
    if found.database_file:
        check_readable("databaseFile", found.database_file)
    check_certificates("trailCaFile", found.trail_ca_file)
    prices_of(found.prices_file)


def _words(text: str) -> Iterator[str]:
    return (word.strip() for word in text.split(",") if word.strip())
