import { resolve } from 'node:path';
import { rolldown } from 'rolldown';
import { beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, openChromium } from '../../test/support/chromium.ts';
import { createTestService, type TestAgent, type TestService, type TestUser } from '../../test/support/service.ts';
import { listen } from '../http/node.ts';
import { DeniedError, LegateClient, LegateError, type StreamEvent, type StreamNotice } from './index.ts';

let t: TestService;
let owner: TestUser;
let agent: TestAgent;
/** Clients of the owner and of the agent. They call the service in this process. */
let client: LegateClient;
let asAgent: LegateClient;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  owner = await t.user();
  agent = await t.agent(owner, { permissions: [{ resource: 'mcp:github:*', actions: ['read'] }] });
  client = clientOf(owner.token);
  asAgent = clientOf(agent.token);
});

const baseUrl = 'http://localhost:3000';
const inProcess: typeof fetch = (url, init) =>
  t.legate.fetch(new Request(url, init), { remoteAddress: '192.0.2.1' }) as Promise<Response>;
const clientOf = (token: string, overFetch = inProcess): LegateClient =>
  new LegateClient({ baseUrl, token, fetch: overFetch });

const READ = { action: 'read', resource: 'mcp:github:list_issues' };
const WRITE = { action: 'write', resource: 'mcp:github:create_issue' };

describe('a decision', () => {
  it('is a value, allowed or not', async () => {
    expect(await asAgent.authorize(READ)).toMatchObject({ allowed: true });
    expect(await asAgent.authorize(WRITE)).toMatchObject({ allowed: false, reason: 'NO_PERMISSION' });
    const { results } = await client.authorizeBatch({ requests: [{ ...READ, agentId: agent.id }] });
    expect(results).toMatchObject([{ allowed: true }]);
  });

  it('that is required and denied throws a DeniedError with the decision', async () => {
    expect(await asAgent.require(READ)).toMatchObject({ allowed: true });
    const error = await asAgent.require(WRITE).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(DeniedError);
    expect(error).toBeInstanceOf(LegateError);
    expect(error).toMatchObject({ name: 'DeniedError', code: 'NO_PERMISSION', decision: { allowed: false } });
  });

  it('counts once when the response is lost and the client asks again', async () => {
    let lost = 0;
    const flaky = clientOf(agent.token, async (url, init) => {
      const response = await inProcess(url, init);
      if (++lost > 1) return response;
      throw new TypeError('connection reset');
    });
    const { auditId } = await flaky.authorize({ ...READ, resource: 'mcp:github:once' });
    const entries = await client.audit.list({ agentId: agent.id, resource: 'mcp:github:once' }).page();
    expect(entries.items.map((entry) => entry.id)).toEqual([auditId]);
    expect(lost).toBe(2);
  });
});

it('can list agents in pages, and create, change, preview and revoke them', async () => {
  const mine = await t.user();
  const their = clientOf(mine.token);
  const names = ['a', 'b', 'c'];
  for (const name of names) await their.agents.create({ ownerId: mine.id, name, type: 'service', permissions: [] });
  const list = their.agents.list({ limit: 2 });
  const first = await list.page();
  expect(first.items.map((a) => a.name)).toEqual(['a', 'b']);
  expect((await list.page(first.next)).items.map((a) => a.name)).toEqual(['c']);
  const all: string[] = [];
  for await (const { name } of list) all.push(name);
  expect(all).toEqual(names);

  const read = await their.agents.get(first.items[0]?.id as string);
  await their.agents.update(read.id, { name: 'renamed' }, { ifMatch: read });
  await expect(their.agents.update(read.id, { name: 'again' }, { ifMatch: read })).rejects.toMatchObject({
    code: 'PRECONDITION_FAILED',
    status: 412,
    requestId: expect.any(String),
  });
  const loss = await their.agents.revoke(read.id, { preview: true });
  expect(loss.events.map((event) => event.type)).toContain('agent.revoked');
  expect(await their.agents.revoke(read.id, { reason: 'test' })).toBeUndefined();
  expect((await their.agents.get(read.id)).status).toBe('revoked');
  const csv = await their.audit.export({ format: 'csv' });
  expect(await csv.text()).toContain('id,timestamp,agentId');
  await expect(clientOf('lgk_wrong').agents.get(read.id)).rejects.toMatchObject({ code: 'UNAUTHORIZED', status: 401 });
});

describe('the event stream', () => {
  /** Breaks each connection after one event. */
  const breaking: typeof fetch = async (url, init) => {
    const response = await inProcess(url, init);
    const reader = response.body?.getReader();
    if (!String(url).includes('/stream') || !reader) return response;
    let ended = false;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (ended) return controller.error(new TypeError('connection reset'));
        const { value } = await reader.read();
        // The service advises two seconds until the next connection.
        const text = new TextDecoder().decode(value).replace('retry: 2000', 'retry: 1');
        ended = text.includes('\nevent: ');
        controller.enqueue(new TextEncoder().encode(text));
        if (ended) await reader.cancel();
      },
      cancel: () => reader.cancel(),
    });
    return new Response(body, response);
  };

  it('resumes after the last event without losing or repeating any', async () => {
    const ending = new AbortController();
    const stream = clientOf(owner.token, breaking).events.stream({
      types: ['audit', 'agent.created'],
      since: new Date(t.clock.now()),
      signal: ending.signal,
    });
    const expected: string[] = [];
    for (let i = 0; i < 5; i++) {
      t.clock.advance(1);
      const { auditId = '' } = await asAgent.authorize({ ...READ, resource: `mcp:github:stream${i}` });
      expected.push(auditId.replace('aud', 'evt'));
    }
    const seen: string[] = [];
    for await (const event of stream) {
      if (event.id !== undefined && expected.includes(event.id)) seen.push(event.id);
      if (event.id === expected.at(-1)) ending.abort();
    }
    expect(seen).toEqual(expected);
  });

  it('contains notices of ticks, and ends at break', async () => {
    const seen: (StreamEvent | StreamNotice)[] = [];
    for await (const event of client.events.stream({ ticks: true })) {
      seen.push(event);
      break;
    }
    expect(seen).toMatchObject([{ type: 'tick', data: { allowed: 0 } }]);
  });

  it('throws if the service refuses the credential or the request', async () => {
    await expect(clientOf('lgk_wrong').events.stream().next()).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    await expect(client.events.stream({ types: ['nonsense'] }).next()).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
    });
  });
});

/** The script that a page and a worker run. It returns what the client received. */
const SCENARIO = `
async function scenario({ baseUrl, token }) {
  const client = new LegateClient({ baseUrl, token });
  const stop = new AbortController();
  const events = client.events.stream({ types: ['audit'], since: new Date(0), signal: stop.signal });
  const decision = await client.authorize({ action: 'read', resource: 'mcp:github:browser' });
  let seen;
  for await (const event of events)
    if (event.id.slice(4) === decision.auditId.slice(4)) { seen = event.type; stop.abort(); }
  const denied = await client.require({ action: 'write', resource: 'x' }).catch((error) => error.code);
  const missing = await client.agents.get('agt_none').catch((error) => [error.name, error.status]);
  return { allowed: decision.allowed, seen, denied, missing };
}`;

it.skipIf(chromiumPath === undefined)('runs in a page and in a worker', async () => {
  const bundle = await rolldown({ input: resolve(import.meta.dirname, '../client.ts') });
  const { output } = await bundle.generate({ format: 'iife', name: 'legate', minify: true });
  const script = `${output[0].code}\nconst { LegateClient } = legate;\n${SCENARIO}\n`;
  const listening = await listen(t.legate, { port: 0, host: '127.0.0.1' });
  const browser = await openChromium();
  try {
    const address = `http://127.0.0.1:${listening.port}`;
    const page = await browser.newPage();
    await page.route(`${address}/blank`, (route) => route.fulfill({ contentType: 'text/html', body: '<p>' }));
    await page.goto(`${address}/blank`);
    const input = { baseUrl: address, token: agent.token };
    const expected = { allowed: true, seen: 'audit', denied: 'NO_PERMISSION', missing: ['LegateError', 404] };
    const asModule = { contentType: 'text/javascript', body: `${script} export { scenario };` };
    await page.route(`${address}/client.js`, (route) => route.fulfill(asModule));
    // In a page, a relative address refers to the origin of the page.
    const inPage = await page.evaluate(
      `import('/client.js').then((m) => m.scenario({ baseUrl: '/', token: '${agent.token}' }))`,
    );
    expect(inPage).toEqual(expected);
    const inWorker = await page.evaluate(
      ({ script, input }) =>
        new Promise((done, fail) => {
          const glue = 'onmessage = async ({ data }) => postMessage(await scenario(data))';
          const url = URL.createObjectURL(new Blob([`${script} ${glue}`], { type: 'text/javascript' }));
          const worker = new Worker(url, { type: 'module' });
          worker.onmessage = ({ data }) => done(data);
          worker.onerror = (event) => fail(new Error(event.message));
          worker.postMessage(input);
        }),
      { script, input },
    );
    expect(inWorker).toEqual(expected);
  } finally {
    await browser.close();
    await listening.stop();
  }
});
