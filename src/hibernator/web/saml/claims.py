"""The attributes in which providers send the address, the name and the groups of a person."""

from collections.abc import Sequence
from typing import Final

from hibernator.web.claims import is_address
from hibernator.web.saml.response import Assertion, NotBelievedError

_XMLSOAP: Final = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims"
_MICROSOFT: Final = "http://schemas.microsoft.com"
_EMAIL_FORMAT: Final = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"

# In the order in which they are looked for; upper and lower case are the same.
EMAIL: Final = (
    "email",  # Okta and Keycloak, as their guides set it up
    "mail",
    "emailaddress",
    "user.email",
    f"{_XMLSOAP}/emailaddress",  # Entra ID, AD FS
    "urn:oid:0.9.2342.19200300.100.1.3",  # Keycloak's X500 mapper, Shibboleth
    "urn:oid:1.2.840.113549.1.9.1",
)
NAME: Final = (
    "displayname",
    f"{_MICROSOFT}/identity/claims/displayname",  # Entra ID
    "urn:oid:2.16.840.1.113730.3.1.241",
    "name",
    "cn",
    "urn:oid:2.5.4.3",
    f"{_XMLSOAP}/name",
)
GROUPS: Final = (
    "groups",
    "group",
    "memberof",
    f"{_MICROSOFT}/ws/2008/06/identity/claims/groups",  # Entra ID
    "http://schemas.xmlsoap.org/claims/group",  # AD FS
    "urn:oid:1.3.6.1.4.1.5923.1.5.1.1",
)


def email_of(assertion: Assertion) -> str:
    """The one address of a person; an answer with two, or with none, logs no one in."""
    found = set(_first(assertion, EMAIL))
    if not found and assertion.name_format == _EMAIL_FORMAT:
        found = {assertion.name_id}
    if len(found) != 1:
        raise NotBelievedError(
            "email",
            f"the SAML assertion has {len(found)} e-mail addresses, expected one: send it as the attribute "
            "`email`, or as a NameID of the format emailAddress",
        )
    (address,) = found
    if not is_address(address):
        raise NotBelievedError("email", f"the SAML assertion's e-mail address is no address: {address!r}")
    return address


def name_of(assertion: Assertion) -> str:
    """How a person is called, for others to read."""
    return next(iter(_first(assertion, NAME)), assertion.name_id)


def groups_of(assertion: Assertion, attribute: str = "") -> tuple[str, ...]:
    """The groups, as the first attribute that tells groups has them, or as the one that was configured."""
    return _first(assertion, (attribute.lower(),) if attribute else GROUPS)


def _first(assertion: Assertion, names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        values = [
            value for called, found in assertion.attributes if called.lower() == name for value in found
        ]
        if values:
            return tuple(values)
    return ()
