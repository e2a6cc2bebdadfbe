// A real OpenID Connect provider on loopback. People log in by a form: who they are, and what is claimed of them.
// Prints its issuer once it listens, and ends with its standard input.
import { createServer } from 'node:http';
import { once } from 'node:events';
import { Provider } from 'oidc-provider';

const server = createServer();
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const issuer = `http://127.0.0.1:${server.address().port}`;

const people = new Map();
const client = {
  client_id: 'hibernator',
  client_secret: 'a secret with % and :',
  redirect_uris: ['https://hibernator.test/oidc/callback'],
};
// A native client may come back to any port of this machine, as browsers in tests do.
const loopback = {
  ...client,
  client_id: 'hibernator-loopback',
  application_type: 'native',
  redirect_uris: ['http://127.0.0.1/oidc/callback', 'http://localhost/oidc/callback'],
};
const post = { ...client, client_id: 'hibernator-post', token_endpoint_auth_method: 'client_secret_post' };
const open = {
  client_id: 'hibernator-public',
  redirect_uris: client.redirect_uris,
  token_endpoint_auth_method: 'none',
};

const provider = new Provider(issuer, {
  clients: [client, loopback, post, open],
  claims: { email: ['email', 'email_verified'], profile: ['name', 'groups', 'hd', 'tid'] },
  // One client wants everything in the ID token, the others look at the userinfo endpoint.
  conformIdTokenClaims: process.argv[2] !== 'fat',
  cookies: { keys: ['only for tests'] },
  features: { devInteractions: { enabled: false } },
  findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id, ...people.get(id) }) }),
  interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
  loadExistingGrant: async (ctx) => {
    const grant = new ctx.oidc.provider.Grant({
      clientId: ctx.oidc.client.clientId,
      accountId: ctx.oidc.session.accountId,
    });
    grant.addOIDCScope('openid email profile');
    await grant.save();
    return grant;
  },
  ttl: { AccessToken: 600, AuthorizationCode: 60, Grant: 600, IdToken: 600, Interaction: 600, Session: 3600 },
});

async function interact(request, response) {
  const { prompt, grantId } = await provider.interactionDetails(request, response);
  if (prompt.name !== 'login') {
    return provider.interactionFinished(request, response, { consent: { grantId } });
  }
  if (request.method !== 'POST') {
    response.setHeader('content-type', 'text/html');
    return response.end(`<!doctype html><title>Company log-in</title><form method="post">
      <label>Who are you? <input name="login" autofocus></label>
      <label>Claims <input name="claims"></label> <button>Log in</button></form>`);
  }
  let body = '';
  for await (const chunk of request) body += chunk;
  const form = new URLSearchParams(body);
  const login = form.get('login');
  people.set(login, { email: login, email_verified: true, name: login, ...JSON.parse(form.get('claims') || '{}') });
  return provider.interactionFinished(request, response, { login: { accountId: login } });
}

const answer = provider.callback();
server.on('request', (request, response) => {
  if (!request.url.startsWith('/interaction/')) return answer(request, response);
  return interact(request, response).catch((error) => {
    response.statusCode = 500;
    response.end(String(error));
  });
});
console.log(issuer);
process.stdin.resume().on('end', () => process.exit());
