// The gateway: calls compared with a bare forwarder, long lists, and the remains of idle and disconnected clients.
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createLegate } from '../../dist/index.js';
import { nodeListener } from '../../dist/node.js';
import { compare } from '../support/load.mjs';
import { median, ms, ratio, sleep, thousands } from '../support/numbers.mjs';
import { startScript, startService, writeBodies } from '../support/service.mjs';

const ADMIN = { email: 'root@example.com', password: 'a long password for the bench' };
const TOOLS = 1000;
const PERMITTED = 100;
const USERS = 200;
const DISCONNECTS = 1000;
const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'tool_0', arguments: { page: 1 } } };
/** A server over stdio with results of a megabyte: it answers every request with the same one. */
const SHELL = `while IFS= read -r line; do case "$line" in *'"id":'*) id=\${line##*'"id":'}; id=\${id%%[,\\}]*};
printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},' "$id"
printf '"serverInfo":{"name":"x","version":"1"},"tools":[{"name":"tool_0","inputSchema":{}}],"content":[]}}\\n';;
esac; done`;

export async function measureGateway(context) {
  await measureCalls(context);
  await measureEnds(context);
}

async function measureCalls({ scratch, generator, rounds, seconds, report }) {
  const dataDir = join(scratch, 'gateway');
  const small = await startScript('mcp-upstream.mjs', { TOOLS: '10' });
  const large = await startScript('mcp-upstream.mjs', { TOOLS: String(TOOLS) });
  const forwarder = await startScript('forwarder.mjs', { UPSTREAM: `${small.url}/mcp` });
  const servers = { small: { url: `${small.url}/mcp` }, large: { url: `${large.url}/mcp` } };
  const service = await startService(`sqlite:${join(dataDir, 'legate.db')}`, dataDir, {
    env: {
      LEGATE_GATEWAY_SERVERS: JSON.stringify(servers),
      LEGATE_ADMIN_EMAIL: ADMIN.email,
      LEGATE_ADMIN_PASSWORD: ADMIN.password,
    },
  });
  const post = async (path, body, token) => {
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
    const response = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${JSON.stringify(answer)}`);
    return answer;
  };
  try {
    const { token, user } = await post('/sign-in', ADMIN);
    const permissions = [
      { resource: 'mcp:small:*', actions: ['execute'] },
      ...Array.from({ length: PERMITTED }, (_, i) => ({ resource: `mcp:large:tool_${i}`, actions: ['execute'] })),
    ];
    const agent = await post('/agents', { ownerId: user.id, name: 'a', type: 'autonomous', permissions }, token);
    const { result } = await post('/gateway/small/mcp', CALL, agent.token);
    if (result?.content?.[0]?.text !== 'done') throw new Error(`a call returned ${JSON.stringify(result)}`);

    const bodies = writeBodies(join(scratch, 'calls.txt'), [CALL]);
    const bare = { url: `${forwarder.url}/mcp`, token: 'none', bodies };
    const guarded = { url: `${service.url}/gateway/small/mcp`, token: agent.token, bodies };
    const single = await compare(generator, bare, guarded, { connections: 1, rounds, seconds });
    const added = { p50: single.b.p50 - single.a.p50, p99: single.b.p99 - single.a.p99 };
    report('a call through the gateway at 1 connection, added to a bare forwarder', {
      measured: `p50 ${ms(added.p50)}, p99 ${ms(added.p99)} (to ${ms(single.a.p50)}, ${ms(single.a.p99)})`,
      bar: 'p50 <= 1.0 ms, p99 <= 5 ms',
      ok: added.p50 <= 1 && added.p99 <= 5,
    });
    const wide = await compare(generator, bare, guarded, { connections: 64, rounds, seconds });
    report('calls through the gateway, 64 connections', {
      measured: `${ratio(wide.ratio)} of a bare forwarder (${thousands(wide.b.rps)}/s of ${thousands(wide.a.rps)}/s)`,
      bar: '>= 0.50',
      ok: wide.ratio >= 0.5,
    });

    const times = [];
    for (let i = 0; i < 30; i++) {
      const start = performance.now();
      const list = await post('/gateway/large/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, agent.token);
      times.push(performance.now() - start);
      if (list.result.tools.length !== PERMITTED) throw new Error(`the list has ${list.result.tools.length} tools`);
    }
    const time = median(times.slice(5));
    report(`a list of ${thousands(TOOLS)} tools, ${PERMITTED} permitted`, {
      measured: ms(time),
      bar: '<= 20 ms',
      ok: time <= 20,
    });
  } finally {
    for (const one of [service, forwarder, small, large]) await one.stop();
  }
}

/** The service runs in this process, so that its timers and sockets can be counted. */
async function measureEnds({ scratch, report, quick }) {
  const legate = await createLegate(
    {
      dataDir: join(scratch, 'gateway-ends'),
      users: { allowExternalOwners: true },
      gateway: {
        servers: {
          shell: {
            command: 'sh',
            args: ['-c', SHELL],
            legate: { limits: { idleSeconds: 1, processes: USERS } },
          },
        },
      },
    },
    { env: {} },
  );
  const server = createServer(nodeListener(legate));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  const users = quick ? USERS / 10 : USERS;
  try {
    const permissions = [{ resource: 'mcp:shell:*', actions: ['execute'] }];
    const agents = await Promise.all(
      Array.from({ length: users }, (_, i) =>
        legate.agents.create({ ownerId: `owner ${i}`, name: 'a', type: 'autonomous', permissions }),
      ),
    );
    const call = async ({ token }) => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
      const url = `http://127.0.0.1:${port}/gateway/shell/mcp`;
      const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(CALL) });
      const { result } = await response.json();
      if (!result?.content || result.isError) throw new Error(`a call returned ${JSON.stringify(result)}`);
    };
    for (let at = 0; at < users; at += 10) await Promise.all(agents.slice(at, at + 10).map(call));
    const started = await processes(legate);
    const left = await settled(() => processes(legate));
    report(`${users} users who are idle after a call`, {
      measured: `${started} processes, then ${left}`,
      bar: '0 processes left',
      ok: started > 0 && left === 0,
      promise: true,
    });

    const before = resources();
    const body = JSON.stringify({ ...CALL, params: { ...CALL.params, _meta: { progressToken: 1 } } });
    const head =
      `POST /gateway/shell/mcp HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${agents[0].token}\r\n` +
      'accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n' +
      `content-length: ${body.length}\r\n\r\n`;
    for (let done = 0; done < DISCONNECTS; done++) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      await new Promise((resolve) => socket.write(head + body, resolve));
      socket.destroy();
    }
    const remaining = await settled(async () => Math.max(0, resources() - before) + (await processes(legate)));
    report(`${thousands(DISCONNECTS)} clients that disconnect during a call`, {
      measured: `${remaining} processes, timers and sockets left`,
      bar: '0',
      ok: remaining === 0,
      promise: true,
    });
  } finally {
    server.closeAllConnections();
    server.close();
    await legate.close();
  }
}

const resources = () =>
  process.getActiveResourcesInfo().filter((name) => name === 'Timeout' || name === 'TCPSocketWrap').length;

async function processes({ platform }) {
  const gauge = platform.gauges.find(({ name }) => name === 'gateway_processes');
  return gauge.read(platform);
}

/** Reads a number until it is 0, for up to 20 s. */
async function settled(read) {
  for (let tries = 0; tries < 200; tries++) {
    if ((await read()) === 0) return 0;
    await sleep(100);
  }
  return read();
}
