// Creates and revokes delegations one after the other: node changes-client.mjs < {url, token, pairs, warmUp, body}. It
// is a separate process, so that the benchmark's own garbage collection is not measured.
import { Agent, request } from 'node:http';

const { url, token, pairs, warmUp, body } = JSON.parse(await new Response(process.stdin).text());
const agent = new Agent({ keepAlive: true, maxSockets: 1, noDelay: true });

function send(method, path, content) {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(content ? { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) } : {}),
    };
    const sent = request(url + path, { method, agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => (text += chunk));
      response.on('end', () =>
        response.statusCode < 300
          ? resolve(text)
          : reject(new Error(`${method} ${path} answered ${response.statusCode}: ${text}`)),
      );
    });
    sent.once('error', reject);
    sent.end(content);
  });
}

const create = async ([fromAgent, toAgent]) =>
  JSON.parse(await send('POST', '/delegations', JSON.stringify({ fromAgent, toAgent, ...body }))).id;
const revoke = (id) => send('DELETE', `/delegations/${id}`);
async function timed(times, work) {
  const start = performance.now();
  const result = await work();
  times.push(performance.now() - start);
  return result;
}

// The warm-up repeats the same pairs.
for (let i = 0; i < warmUp; i++) await revoke(await create(pairs[i % pairs.length]));
const creating = [];
const revoking = [];
const made = [];
for (const pair of pairs) made.push(await timed(creating, () => create(pair)));
for (const id of made) await timed(revoking, () => revoke(id));
console.log(JSON.stringify({ creating, revoking }));
process.exit(0);
