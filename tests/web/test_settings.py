"""Settings of the web process: a wrong or missing one ends it with one sentence that names it."""

from pathlib import Path
from typing import Any

import pytest

from hibernator.settings import SettingsError
from hibernator.web.settings import SCHEMA, domains, proxies, required_claims, settings
from support.command import hibernator
from support.webs import web_settings

ISSUER = "https://login.company.com"
FROM = "hibernator@company.com"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"base_url": ""}, "baseUrl is missing: write the address"),
        ({"base_url": "hibernator.company.com"}, "baseUrl is 'hibernator.company.com': write a scheme"),
        (
            {"base_url": "https://a.company.com/path"},
            "baseUrl is 'https://a.company.com/path': write a scheme",
        ),
        ({"base_url": "https://me@a.company.com"}, "baseUrl is 'https://me@a.company.com': write a scheme"),
        (
            {"base_url": "https://bücher.de"},
            "baseUrl is 'https://bücher.de': write it as browsers do, with xn--",
        ),
        ({"base_url": "https://a b.de"}, "baseUrl is 'https://a b.de': write it as browsers do"),
        ({"base_url": "http://a.company.com"}, "baseUrl is 'http://a.company.com': write an address that"),
        ({"base_url": "https://a.company.com:99999"}, "baseUrl is 'https://a.company.com:99999': Port out"),
        ({"session_key_file": ""}, "sessionKeyFile is missing: name a file"),
        (
            {"session_key_file": "/nowhere"},
            "sessionKeyFile is '/nowhere', which cannot be read: No such file",
        ),
        ({"oidc_issuer": ""}, "oidcIssuer and samlIdpMetadataFile are missing: no one could log in"),
        ({"oidc_issuer": "http://login.company.com"}, "oidcIssuer is 'http://login.company.com': write an"),
        ({"oidc_client_id": ""}, "oidcClientId is missing"),
        ({"oidc_client_secret_file": "/nowhere"}, "oidcClientSecretFile is '/nowhere', which cannot be read"),
        ({"oidc_scopes": "email"}, "oidcScopes is 'email': it must contain openid"),
        ({"oidc_required_claims": "hd"}, "oidcRequiredClaims is 'hd': write claim=value"),
        ({"allowed_email_domains": "@company.com"}, "allowedEmailDomains has '@company.com': write domains"),
        (
            {"allowed_email_domains": "*.company.com"},
            "allowedEmailDomains has '*.company.com': write domains",
        ),
        ({"allowed_email_domains": "company"}, "allowedEmailDomains has 'company': write domains"),
        ({"trusted_proxies": "10.0.0.0/33"}, "trustedProxies is '10.0.0.0/33': "),
        ({"certificates": "/nowhere"}, "certificates is '/nowhere/tls.crt', which cannot be read"),
        ({"listen": "8080"}, "listen is '8080': write host:port"),
        ({"metrics_listen": "x"}, "metricsListen is 'x': write host:port"),
        ({"web_authorization": "all"}, "--web-authorization is 'all': write asked or rbac."),
        ({"smtp_url": "smtp://mail.company.com"}, "mailFrom is missing"),
        (
            {"smtp_url": "mail.company.com:25", "mail_from": FROM},
            "smtpUrl cannot be used: write it as smtp://",
        ),
        (
            {"smtp_url": "smtp://me@mail.company.com", "mail_from": FROM},
            "smtpUrl cannot be used: smtpPasswordFile is missing",
        ),
        ({"smtp_url": "smtp://mail.company.com", "mail_from": "me"}, "mailFrom is 'me': write one address"),
        ({"smtp_ca_file": "/nowhere"}, "smtpCaFile is '/nowhere', which cannot be read"),
        ({"smtp_ca_file": "/dev/null"}, "smtpCaFile is '/dev/null', which holds no certificate"),
        ({"oidc_ca_file": "/dev/null"}, "oidcCaFile is '/dev/null', which holds no certificate"),
        ({"trail_ca_file": "/dev/null"}, "trailCaFile is '/dev/null', which holds no certificate"),
        ({"smtp_password_file": "/nowhere"}, "smtpPasswordFile is '/nowhere', which cannot be read"),
        ({"database_file": "/nowhere"}, "databaseFile is '/nowhere', which cannot be read"),
        ({"trail_ca_file": "/nowhere"}, "trailCaFile is '/nowhere', which cannot be read"),
        ({"trail_url": "http://hibernator:9444"}, "trailUrl is 'http://hibernator:9444': write https://"),
        ({"saml_idp_metadata_file": "/nowhere"}, "samlIdpMetadataFile is '/nowhere', which cannot be read"),
    ],
)
def test_a_wrong_or_missing_setting_is_named(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as told:
        web_settings(tmp_path, **({"oidc_issuer": ISSUER} | changed))
    assert str(told.value).startswith(message)


@pytest.mark.parametrize(
    ("name", "also"),
    [
        ("oidc_client_secret_file", {}),
        ("smtp_password_file", {"smtp_url": "smtp://me@mail.company.com", "mail_from": FROM}),
        ("slack_bot_token_file", {"slack_team_id": "T024BE7LD"}),
    ],
)
@pytest.mark.parametrize(
    ("content", "message"), [(b" \n", "which is empty"), (b"\xff\xfe", "which is not text in UTF-8")]
)
def test_a_secret_that_would_fail_at_the_first_person_is_named_at_the_start(
    tmp_path: Path, name: str, also: dict[str, str], content: bytes, message: str
) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    field = next(field.encode_name for field, _, _ in SCHEMA.fields() if field.name == name)
    with pytest.raises(SettingsError, match=f"^{field} is '{file}', {message}"):
        web_settings(tmp_path, **({"oidc_issuer": ISSUER} | also | {name: str(file)}))


def test_the_command_ends_with_that_sentence_and_the_code_for_a_wrong_use() -> None:
    ran = hibernator("web", "--base-url", "https://hibernator.company.com")
    assert ran.code == 2
    assert ran.err.startswith("error: sessionKeyFile is missing: ")


def test_a_key_that_is_too_short_is_refused_and_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "short").write_text("hunter2\n")
    with pytest.raises(SettingsError, match=r"sessionKeyFile is .*: a key is shorter than 32") as told:
        web_settings(tmp_path, oidc_issuer=ISSUER, session_key_file=str(tmp_path / "short"))
    assert "hunter2" not in str(told.value)


def test_flags_win_over_variables_and_those_over_the_file(tmp_path: Path) -> None:
    web_settings(tmp_path, oidc_issuer=ISSUER)
    file = tmp_path / "web.yaml"
    file.write_text(f"sessionKeyFile: {tmp_path / 'keys'}\noidcIssuer: {ISSUER}\noidcClientId: of-file\n")
    environment = {"HIBERNATOR_WEB_OIDC_CLIENT_ID": "of-environment", "HIBERNATOR_WEB_LOG_LEVEL": "debug"}
    found = settings({"base_url": "https://a.company.com/", "log_level": "error"}, environment, file)
    assert (found.base_url, found.oidc_client_id, found.log_level) == (
        "https://a.company.com",
        "of-environment",
        "error",
    )


@pytest.mark.parametrize("address", ["http://127.0.0.1:8081", "http://localhost:1", "http://[::1]:8081"])
def test_plain_http_is_for_this_machine_itself(tmp_path: Path, address: str) -> None:
    assert web_settings(tmp_path, oidc_issuer=ISSUER, base_url=address).base_url == address


@pytest.mark.parametrize(
    ("written", "origin"),
    [
        ("https://Hibernator.Company.com:443/", "https://hibernator.company.com"),
        ("https://h.company.com:8443", "https://h.company.com:8443"),
        ("http://[::1]:80", "http://[::1]"),
    ],
)
def test_the_base_url_is_kept_as_browsers_write_it(tmp_path: Path, written: str, origin: str) -> None:
    assert web_settings(tmp_path, oidc_issuer=ISSUER, base_url=written).base_url == origin


def test_lists_are_written_with_commas(tmp_path: Path) -> None:
    found = web_settings(
        tmp_path,
        oidc_issuer=ISSUER,
        allowed_email_domains="Company.com, company.co.uk, Bücher.de, xn--bcher-kva.de",
        trusted_proxies="10.0.0.0/8, fd00::/8",
        oidc_required_claims="hd=company.com, groups=a=b",
    )
    assert domains(found) == {"company.com", "company.co.uk", "bücher.de", "xn--bcher-kva.de"}
    assert [str(network) for network in proxies(found)] == ["10.0.0.0/8", "fd00::/8"]
    assert required_claims(found) == (("hd", "company.com"), ("groups", "a=b"))


def test_every_setting_has_a_description_and_none_holds_a_secret() -> None:
    for field, words, _ in SCHEMA.fields():
        assert words.endswith("."), field.name
        assert not field.name.endswith(("_secret", "_password", "_key", "_token"))
