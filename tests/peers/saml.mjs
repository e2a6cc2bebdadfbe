// A real SAML identity provider on loopback. People log in by a form; the answer is a form that their browser sends.
// Arguments: a folder with key.pem, cert.pem and sp.xml. Prints its address once it listens, ends with its input.
import { createServer } from 'node:http';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import samlify from 'samlify';

const folder = process.argv[2];
const read = (name) => readFileSync(join(folder, name), 'utf8');
samlify.setSchemaValidator({ validate: async () => 'skipped' });

const server = createServer();
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const base = `http://127.0.0.1:${server.address().port}`;

const context = `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="{ID}" Version="2.0" IssueInstant="{IssueInstant}" Destination="{Destination}" InResponseTo="{InResponseTo}"><saml:Issuer>{Issuer}</saml:Issuer><samlp:Status><samlp:StatusCode Value="{StatusCode}"/></samlp:Status><saml:Assertion ID="{AssertionID}" Version="2.0" IssueInstant="{IssueInstant}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xs="http://www.w3.org/2001/XMLSchema"><saml:Issuer>{Issuer}</saml:Issuer><saml:Subject><saml:NameID Format="{NameIDFormat}">{NameID}</saml:NameID><saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData NotOnOrAfter="{SubjectConfirmationDataNotOnOrAfter}" Recipient="{SubjectRecipient}" InResponseTo="{InResponseTo}"/></saml:SubjectConfirmation></saml:Subject><saml:Conditions NotBefore="{ConditionsNotBefore}" NotOnOrAfter="{ConditionsNotOnOrAfter}"><saml:AudienceRestriction><saml:Audience>{Audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions><saml:AuthnStatement AuthnInstant="{AuthnInstant}" SessionIndex="{AssertionID}"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>{AttributeStatement}</saml:Assertion></samlp:Response>`;

const idp = samlify.IdentityProvider({
  entityID: `${base}/metadata`,
  signingCert: read('cert.pem'),
  privateKey: read('key.pem'),
  messageSigningOrder: 'sign-then-encrypt',
  requestSignatureAlgorithm: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  nameIDFormat: ['urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress'],
  singleSignOnService: [{ Binding: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect', Location: `${base}/sso` }],
  loginResponseTemplate: {
    context,
    attributes: [
      { name: 'email', valueTag: 'email', nameFormat: 'urn:oasis:names:tc:SAML:2.0:attrname-format:basic', valueXsiType: 'xs:string' },
      { name: 'displayName', valueTag: 'name', nameFormat: 'urn:oasis:names:tc:SAML:2.0:attrname-format:basic', valueXsiType: 'xs:string' },
    ],
  },
});
const sp = samlify.ServiceProvider({ metadata: read('sp.xml') });

function filled(request, who, name) {
  return (template) => {
    const now = new Date();
    const later = new Date(now.getTime() + 5 * 60 * 1000).toISOString();
    const id = `_${crypto.randomUUID()}`;
    const acs = sp.entityMeta.getAssertionConsumerService('post');
    const values = {
      ID: id,
      AssertionID: `_${crypto.randomUUID()}`,
      Destination: acs,
      SubjectRecipient: acs,
      Audience: sp.entityMeta.getEntityID(),
      Issuer: idp.entityMeta.getEntityID(),
      IssueInstant: now.toISOString(),
      AuthnInstant: now.toISOString(),
      ConditionsNotBefore: now.toISOString(),
      ConditionsNotOnOrAfter: later,
      SubjectConfirmationDataNotOnOrAfter: later,
      StatusCode: 'urn:oasis:names:tc:SAML:2.0:status:Success',
      NameIDFormat: 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
      NameID: who,
      InResponseTo: request.id,
      attrEmail: who,
      attrName: name,
    };
    return { id, context: samlify.SamlLib.replaceTagsByValue(template, values) };
  };
}

async function answer(request, response) {
  const url = new URL(request.url, base);
  response.setHeader('content-type', 'text/html');
  if (url.pathname === '/metadata') {
    response.setHeader('content-type', 'application/samlmetadata+xml');
    return response.end(idp.getMetadata());
  }
  let sent = '';
  for await (const chunk of request) sent += chunk;
  const body = Object.fromEntries(new URLSearchParams(sent));
  const asked = { ...Object.fromEntries(url.searchParams), ...body };
  const binding = body.SAMLRequest ? 'post' : 'redirect';
  const { extract } = await idp.parseLoginRequest(sp, binding, { query: asked, body });
  if (!body.login) {
    const kept = ['SAMLRequest', 'RelayState'].filter((name) => body[name])
      .map((name) => `<input type="hidden" name="${name}" value="${body[name]}">`).join('');
    return response.end(`<!doctype html><html lang="en"><title>Company log-in</title><form method="post">${kept}
      <label>Who are you? <input name="login" autofocus></label><button>Log in</button></form></html>`);
  }
  const who = body.login;
  const made = await idp.createLoginResponse(sp, { extract }, 'post', { email: who }, filled(extract.request, who, `${who}, by SAML`));
  return response.end(`<!doctype html><html lang="en"><title>Company log-in</title><form method="post" action="${made.entityEndpoint}">
    <input type="hidden" name="SAMLResponse" value="${made.context}">
    <input type="hidden" name="RelayState" value="${asked.RelayState}"><button autofocus>Go on</button></form></html>`);
}

server.on('request', (request, response) => {
  answer(request, response).catch((error) => {
    response.statusCode = 500;
    response.end(String(error?.stack ?? error));
  });
});
console.log(base);
process.stdin.on('end', () => process.exit(0)).resume();
