// The client of the OAuth figures: node oauth-load.mjs < {url, kind, seconds, connections, ...}. Every request here
// depends on an earlier response, which a load generator does not support. It uses plain sockets, so that it needs
// little processor time.
import { createHash } from 'node:crypto';
import { connect } from 'node:net';

const input = JSON.parse(await new Response(process.stdin).text());
const { hostname, port, host } = new URL(input.url);
const VERIFIER = 'v'.repeat(43);
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');

/** A keep-alive connection with one request at a time. Returns status line, headers and body as they arrived. */
function connection() {
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  let text = '';
  let waiting;
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += chunk;
    const end = text.indexOf('\r\n\r\n');
    if (end < 0) return;
    const head = text.slice(0, end);
    // A redirect without a body may arrive as an empty chunked response.
    const chunked = /transfer-encoding: chunked/i.test(head);
    const length = chunked
      ? text.indexOf('0\r\n\r\n', end + 4) + 5 - (end + 4)
      : Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (length < 0 || text.length < end + 4 + length) return;
    const body = text.slice(end + 4, end + 4 + length);
    text = text.slice(end + 4 + length);
    waiting({ status: Number(head.slice(9, 12)), head, body });
  });
  const send = (request) =>
    new Promise((resolve, reject) => {
      waiting = resolve;
      socket.once('error', reject);
      socket.write(request, 'latin1', () => socket.off('error', reject));
    });
  return {
    get: (path) => send(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${input.ownerToken}\r\n\r\n`),
    post: (path, fields) => send(form(path, fields)),
    end: () => socket.destroy(),
  };
}

function form(path, fields) {
  const body = new URLSearchParams(fields).toString();
  return (
    `POST ${path} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/x-www-form-urlencoded\r\n` +
    `content-length: ${body.length}\r\n\r\n${body}`
  );
}

const expectStatus = ({ status, body }, wanted) => {
  if (status !== wanted) throw new Error(`answered ${status}: ${body}`);
};

const { clientId, redirectUri } = input;
const query = {
  response_type: 'code',
  client_id: clientId,
  redirect_uri: redirectUri,
  code_challenge: CHALLENGE,
  code_challenge_method: 'S256',
  scope: 'mcp:read mcp:execute',
};
const ways = {
  /** The consent is remembered, so each request is answered with a code. */
  authorize: async (to) => {
    const answer = await to.get(`/oauth/authorize?${new URLSearchParams(query)}`);
    expectStatus(answer, 302);
    codes.push(/[?&]code=([^&]+)/.exec(answer.head)[1]);
  },
  exchange: async (to) =>
    expectStatus(
      await to.post('/oauth/token', {
        grant_type: 'authorization_code',
        code: codes.pop(),
        client_id: clientId,
        redirect_uri: redirectUri,
        code_verifier: VERIFIER,
      }),
      200,
    ),
  /** Each request has an unused token of a platform. */
  assertion: async (to) =>
    expectStatus(
      await to.post('/oauth/token', {
        grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
        assertion: input.assertions.pop(),
      }),
      200,
    ),
  /** Each request has the refresh token of the previous response. */
  refresh: async (to) => {
    const answer = await to.post('/oauth/token', {
      grant_type: 'refresh_token',
      refresh_token: to.token ?? input.refreshTokens.pop(),
      client_id: clientId,
    });
    expectStatus(answer, 200);
    to.token = JSON.parse(answer.body).refresh_token;
  },
};
const codes = [];
const open = Array.from({ length: input.connections }, connection);

async function run(way, more) {
  const times = [];
  const start = performance.now();
  await Promise.all(
    open.map(async (to) => {
      while (more()) {
        const before = performance.now();
        await way(to);
        times.push(performance.now() - before);
      }
    }),
  );
  const seconds = (performance.now() - start) / 1000;
  times.sort((a, b) => a - b);
  return { rps: times.length / seconds, p50: times[times.length >> 1], p99: times[Math.floor(times.length * 0.99)] };
}
const forSeconds = (seconds) => {
  const until = performance.now() + seconds * 1000;
  return () => performance.now() < until;
};

const result = {};
const inTime = forSeconds(input.seconds);
const more = input.kind === 'assertion' ? () => inTime() && input.assertions.length > 0 : inTime;
result[input.kind] = await run(ways[input.kind], more);
// Each of the new codes is exchanged once while it is valid.
if (input.kind === 'authorize') result.exchange = await run(ways.exchange, () => codes.length > 0);
for (const to of open) to.end();
console.log(JSON.stringify(result));
