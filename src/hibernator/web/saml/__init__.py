"""SAML 2.0 log-in, as a service provider: requests by HTTP-Redirect or HTTP-POST, responses by HTTP-POST."""
