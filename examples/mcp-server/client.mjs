// An MCP client as the official SDK makes one, with the answer to the login taken on a loopback address:
//   node examples/mcp-server/client.mjs http://localhost:4000/notes search '{"query":"milk"}'
import { createServer } from 'node:http';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [url = 'http://localhost:4000/notes', tool = 'whoami', args = '{}'] = process.argv.slice(2);

/** The person said no, or the authorization server did. */
class Refused extends Error {}

const callback = createServer();
await new Promise((resolve) => callback.listen(0, '127.0.0.1', resolve));
const redirectUrl = `http://127.0.0.1:${callback.address().port}/callback`;
const code = new Promise((resolve, reject) => {
  callback.on('request', (request, response) => {
    const { searchParams } = new URL(request.url, redirectUrl);
    response.end('Done: back to the terminal.');
    if (searchParams.has('code')) resolve(searchParams.get('code'));
    else reject(new Refused(searchParams.get('error_description') ?? searchParams.get('error')));
  });
});
code.catch(() => {});

/** What the SDK asks for: everything is kept for as long as this program runs. */
const kept = {};
const provider = {
  redirectUrl,
  clientMetadata: {
    client_name: 'notes client',
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => void (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => void (kept.tokens = tokens),
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  redirectToAuthorization: (address) =>
    console.log(`Open this in a browser, sign in (or up), and allow:\n\n  ${address}\n`),
};

const connect = async () => {
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  const client = new Client({ name: 'notes-client', version: '1.0.0' });
  try {
    await client.connect(transport);
    return client;
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    await transport.finishAuth(await code);
    return connect();
  }
};

try {
  const client = await connect();
  const { tools } = await client.listTools();
  console.log(`tools: ${tools.map(({ name }) => name).join(', ')}`);
  const { content } = await client.callTool({ name: tool, arguments: JSON.parse(args) });
  console.log(content.map((part) => part.text).join('\n'));
  await client.close();
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  console.error(`Access was not given: ${error.message}`);
  process.exitCode = 1;
} finally {
  callback.close();
  callback.closeAllConnections();
}
