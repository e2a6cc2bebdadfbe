"""What we send, what we read of the provider's metadata, and who comes out of it."""

import base64
import zlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from lxml import etree

from hibernator.web.saml.claims import email_of, groups_of, name_of
from hibernator.web.saml.request import Start
from hibernator.web.saml.response import Assertion, NotBelievedError
from hibernator.web.saml.service import ServiceProvider
from support.saml import ACS, BASE_URL, IDP, NOW, REQUEST, SP, SSO, posted, provider

SCHEMAS = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims"
EMAIL_FORMAT = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> ServiceProvider:
    return _service(tmp_path_factory.mktemp("saml"), provider().metadata())


def _service(folder: Path, metadata: str) -> ServiceProvider:
    path = folder / "idp.xml"
    path.write_text(metadata)
    return ServiceProvider.load(path, SP, BASE_URL)


def _request(start: Start) -> etree._Element:
    assert start.address.startswith(f"{SSO}?")
    assert not start.fields
    packed = base64.b64decode(parse_qs(urlsplit(start.address).query)["SAMLRequest"][0])
    return etree.fromstring(zlib.decompress(packed, wbits=-zlib.MAX_WBITS))


def test_a_request_names_us_and_where_the_answer_is_to_go(service: ServiceProvider) -> None:
    found = _request(service.start(REQUEST, "state-1", NOW))
    told = {
        name: found.get(name) for name in ("ID", "AssertionConsumerServiceURL", "Destination", "ForceAuthn")
    }
    assert told == {"ID": REQUEST, "AssertionConsumerServiceURL": ACS, "Destination": SSO, "ForceAuthn": None}
    assert found[0].text == SP
    assert service.start(REQUEST, "state-1", NOW).address.endswith("&RelayState=state-1")


def test_a_provider_that_takes_only_forms_is_sent_one(tmp_path: Path) -> None:
    metadata = provider().metadata().replace("HTTP-Redirect", "HTTP-POST")
    start = _service(tmp_path, metadata).start(REQUEST, "state-1", NOW, fresh=True)
    assert (start.address, start.fields["RelayState"]) == (SSO, "state-1")
    found = etree.fromstring(base64.b64decode(start.fields["SAMLRequest"]))
    assert (found.get("ID"), found.get("Destination"), found.get("ForceAuthn")) == (REQUEST, SSO, "true")


def test_a_fresh_log_in_asks_for_the_password_again(service: ServiceProvider) -> None:
    assert _request(service.start(REQUEST, "state-1", NOW, fresh=True)).get("ForceAuthn") == "true"


def test_our_metadata_asks_for_signed_assertions_at_our_address(service: ServiceProvider) -> None:
    root = etree.fromstring(service.metadata())
    assert root.get("entityID") == SP
    assert root[0].get("WantAssertionsSigned") == "true"
    assert root[0][-1].get("Location") == ACS


async def test_an_answer_to_nothing_that_we_asked_is_refused_before_it_is_read(
    service: ServiceProvider,
) -> None:
    with pytest.raises(NotBelievedError) as refused:
        await service.finish("anything", "", NOW)
    assert refused.value.reason == "unsolicited"


async def test_the_answer_to_our_request_tells_who_it_is(service: ServiceProvider) -> None:
    found = await service.finish(posted(provider().response()), REQUEST, NOW)
    assert (found.issuer, email_of(found), name_of(found)) == (IDP, "maria@corp.example", "Maria Ito")
    assert groups_of(found) == ("platform", "managers")


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (lambda text: text.replace("IDPSSODescriptor", "SPSSODescriptor"), "0 identity providers"),
        (lambda text: text.replace(f'entityID="{IDP}"', ""), "no entityID"),
        (lambda text: text.replace("HTTP-Redirect", "SOAP"), "HTTP-Redirect or HTTP-POST"),
        (lambda text: text.replace("https://idp.example/sso", "http://idp.example/sso"), "https://"),
        (lambda text: text.replace('use="signing"', 'use="encryption"'), "no signing certificate"),
        (
            lambda text: text.replace("X509Certificate>MII", "X509Certificate>AAA"),
            "certificates cannot be read",
        ),
        (
            lambda text: text.replace("<md:IDPSSO", "<md:IDPSSODescriptor/><md:IDPSSO", 1),
            "2 identity providers",
        ),
        (
            lambda text: text.replace(
                "<md:IDPSSODescriptor", '<md:IDPSSODescriptor WantAuthnRequestsSigned="true"'
            ),
            "WantAuthnRequestsSigned",
        ),
        (lambda text: f"<!DOCTYPE x>{text}", "DOCTYPE"),
        (lambda text: text[:50], "not well-formed"),
    ],
)
def test_metadata_that_is_of_no_use_is_refused_with_a_sentence(
    broken: Callable[[str], str], says: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=says) as refused:
        _service(tmp_path, broken(provider().metadata()))
    assert str(tmp_path / "idp.xml") in str(refused.value)


def test_metadata_may_have_comments_and_keys_without_a_use(tmp_path: Path) -> None:
    text = (
        provider().metadata().replace(' use="signing"', "").replace("<md:KeyD", "<!-- of 2026 --><md:KeyD", 1)
    )
    assert len(_service(tmp_path, f'<?xml version="1.0"?>\n{text}').provider.certificates) == 1


def _told(*attributes: tuple[str, tuple[str, ...]], name_id: str = "u1", name_format: str = "") -> Assertion:
    return Assertion("_a", IDP, name_id, name_format, attributes, NOW, NOW)


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(_told(("email", ("maria@corp.example",))), id="Okta"),
        pytest.param(_told((f"{SCHEMAS}/emailaddress", ("maria@corp.example",))), id="Entra ID, AD FS"),
        pytest.param(_told(("urn:oid:1.2.840.113549.1.9.1", ("maria@corp.example",))), id="Keycloak"),
        pytest.param(_told(("Email", ("maria@corp.example", "maria@corp.example"))), id="told twice"),
        pytest.param(_told(name_id="maria@corp.example", name_format=EMAIL_FORMAT), id="only the NameID"),
    ],
)
def test_the_address_is_found_under_the_names_of_common_providers(told: Assertion) -> None:
    assert email_of(told) == "maria@corp.example"


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(_told(), id="none"),
        pytest.param(_told(name_id="maria@corp.example"), id="a NameID that does not claim to be one"),
        pytest.param(_told(("email", ("maria@corp.example", "ceo@corp.example"))), id="two"),
        pytest.param(_told(("email", ("maria",))), id="no address"),
        pytest.param(_told(("email", ("maria@corp.example ceo@corp.example",))), id="two in one"),
        pytest.param(_told(("email", ("ma\u202eria@corp.example",))), id="invisible signs"),
        pytest.param(_told(("email", ("maria@elsewhere.example,ceo@corp.example",))), id="two with a comma"),
        pytest.param(_told(("email", (f"{'m' * 300}@corp.example",))), id="longer than a decision can hold"),
    ],
)
def test_without_one_clear_address_nobody_is_logged_in(told: Assertion) -> None:
    with pytest.raises(NotBelievedError) as refused:
        email_of(told)
    assert refused.value.reason == "email"


def test_names_and_groups_are_found_under_the_names_of_common_providers() -> None:
    entra = _told(
        ("http://schemas.microsoft.com/identity/claims/displayname", ("Maria Ito",)),
        ("http://schemas.microsoft.com/ws/2008/06/identity/claims/groups", ("5f1c", "77aa")),
    )
    assert (name_of(entra), groups_of(entra)) == ("Maria Ito", ("5f1c", "77aa"))
    assert (name_of(_told()), groups_of(_told())) == ("u1", ())


def test_the_groups_may_be_told_under_a_configured_name() -> None:
    told = _told(("groups", ("everybody",)), ("Role", ("approver",)))
    assert groups_of(told, "Role") == ("approver",)
