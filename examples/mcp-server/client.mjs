// An MCP client made with the official SDK, which takes the answer of the login on a loopback address:
//   node examples/mcp-server/client.mjs http://localhost:4000/notes/mcp search '{"query":"milk"}'
import { createServer } from 'node:http';
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';

const [url = 'http://localhost:4000/notes/mcp', tool = 'whoami', args = '{}'] = process.argv.slice(2);

/** The person or the authorization server refused. */
class Refused extends Error {}

const callback = createServer();
await new Promise((resolve) => callback.listen(0, '127.0.0.1', resolve));
const redirectUrl = `http://127.0.0.1:${callback.address().port}/callback`;
const answer = new Promise((resolve, reject) => {
  callback.on('request', (request, response) => {
    const { searchParams } = new URL(request.url, redirectUrl);
    response.end('Done: back to the terminal.');
    if (searchParams.has('code')) resolve(searchParams);
    else reject(new Refused(searchParams.get('error_description') ?? searchParams.get('error')));
  });
});
answer.catch(() => {});

/** What the SDK requires from its application. All of it is kept only while this program runs. */
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
  discoveryState: () => kept.discovered,
  saveDiscoveryState: (state) => void (kept.discovered = state),
  redirectToAuthorization: (address) =>
    console.log(`Open this in a browser, sign in (or up), and allow:\n\n  ${address}\n`),
};

const connect = async () => {
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  // 'auto' uses MCP 2026-07-28 if the server supports it, and an earlier revision otherwise.
  const client = new Client({ name: 'notes-client', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
  try {
    await client.connect(transport);
    return client;
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    await transport.finishAuth(await answer);
    return connect();
  }
};

try {
  const client = await connect();
  console.log(`MCP ${client.getNegotiatedProtocolVersion()}`);
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
