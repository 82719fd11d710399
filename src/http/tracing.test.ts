import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Attributes,
  type Context,
  type ContextManager,
  ROOT_CONTEXT,
  type Span,
  type SpanOptions,
  type SpanStatus,
  type TextMapPropagator,
  trace,
} from '@opentelemetry/api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestService, type TestService, type TestUser } from '../../test/support/service.ts';

interface Recorded {
  readonly name: string;
  readonly attributes: Attributes;
  readonly parent: string | undefined;
  readonly spanId: string;
  readonly traceId: string;
  status?: SpanStatus;
  ended: number;
}

const recorded: Recorded[] = [];
const kept = new AsyncLocalStorage<Context>();

/** Records spans, as the SDK of an operator does. */
function startSpan(name: string, options: SpanOptions = {}, parent: Context = kept.getStore() ?? ROOT_CONTEXT): Span {
  const from = trace.getSpanContext(parent);
  const spanId = String(recorded.length + 1).padStart(16, '0');
  const traceId = from?.traceId ?? 'f'.repeat(32);
  const own: Recorded = {
    name,
    attributes: { ...options.attributes },
    parent: from?.spanId,
    spanId,
    traceId,
    ended: 0,
  };
  recorded.push(own);
  const span = {
    spanContext: () => ({ traceId, spanId, traceFlags: 1 }),
    setAttribute: (key: string, value: string | number) => {
      own.attributes[key] = value;
      return span;
    },
    setStatus: (status: SpanStatus) => {
      own.status = status;
      return span;
    },
    end: () => void own.ended++,
  } as unknown as Span;
  return span;
}

/** W3C Trace Context, section 3.2. */
const traceContext: TextMapPropagator = {
  inject: () => {},
  fields: () => ['traceparent'],
  extract: (into, carrier, getter) => {
    const [, traceId, spanId] =
      /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/.exec(String(getter.get(carrier, 'traceparent'))) ?? [];
    return traceId && spanId ? trace.setSpanContext(into, { traceId, spanId, traceFlags: 1, isRemote: true }) : into;
  },
};

const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const traceparent = `00-${CALLER.traceId}-${CALLER.spanId}-01`;

/** An MCP server over stdio. */
const SERVER = `
const results = {
  initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } },
  'tools/list': { tools: [{ name: 'read', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [{ type: 'text', text: 'secret' }] },
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] }));
});`;

let plain: TestService;
let t: TestService;
let owner: TestUser;
const contexts: ContextManager = {
  active: () => kept.getStore() ?? ROOT_CONTEXT,
  with: (active, fn, self, ...args) => kept.run(active, () => fn.call(self as never, ...args)),
  bind: (_, target) => target,
  enable: () => contexts,
  disable: () => contexts,
};

const globals = globalThis as { [key: symbol]: unknown };
const REGISTERED = Symbol.for('opentelemetry.js.api.1');
const before = globals[REGISTERED];

beforeAll(async () => {
  globals[REGISTERED] = undefined;
  plain = await createTestService({ lasting: true });
  // An SDK with an older copy of the package registers itself like this.
  globals[REGISTERED] = {
    version: '1.4.0',
    trace: { getTracer: () => ({ startSpan }) },
    propagation: traceContext,
    context: contexts,
  };
  const notes = { command: process.execPath, args: ['-e', SERVER] };
  const config = { gateway: { servers: { notes, away: { command: '/nowhere/x' } } } };
  t = await createTestService({ lasting: true, config });
  owner = await t.user();
});
afterAll(() => {
  globals[REGISTERED] = before;
});

describe('OpenTelemetry', () => {
  it('one span for each request, below the span of the caller, without content of the URL', async () => {
    const agent = await t.agent(owner, { permissions: [{ resource: 'x', actions: ['read'] }] });
    recorded.length = 0;
    const body = { action: 'read', resource: 'x' };
    const asked = await t.call('POST', '/authorize', { as: agent, body, headers: { traceparent } });
    const missing = await t.call('GET', '/agents/agt_secret?ownerId=x', { as: owner });
    expect([asked.status, missing.status]).toEqual([200, 404]);
    const idOf = (r: typeof asked): string | null => r.headers.get('x-request-id');
    expect(recorded).toEqual([
      {
        name: 'POST /authorize',
        attributes: {
          'http.request.method': 'POST',
          'http.route': '/authorize',
          'http.response.status_code': 200,
          'legate.request_id': idOf(asked),
        },
        parent: CALLER.spanId,
        traceId: CALLER.traceId,
        spanId: expect.any(String),
        ended: 1,
      },
      expect.objectContaining({
        name: 'GET /agents/:id',
        attributes: expect.objectContaining({ 'http.response.status_code': 404, 'legate.request_id': idOf(missing) }),
        parent: undefined,
        ended: 1,
      }),
    ]);
    expect(JSON.stringify(recorded)).not.toContain('agt_secret');
  });

  it("the span of a request is the parent of spans created in it, and the child of an instrumentation's", async () => {
    recorded.length = 0;
    const outer = startSpan('GET');
    const { clock } = t.legate.platform;
    const now = clock.now.bind(clock);
    clock.now = () => {
      clock.now = now;
      startSpan('inside');
      return now();
    };
    await kept.run(trace.setSpan(ROOT_CONTEXT, outer), () =>
      t.call('GET', '/agents', { as: owner, headers: { traceparent } }),
    );
    const [, request] = recorded.filter(({ name }) => name !== 'inside');
    expect(request).toMatchObject({ name: 'GET /agents', parent: outer.spanContext().spanId });
    expect(recorded.find(({ name }) => name === 'inside')?.parent).toBe(request?.spanId);
  });

  it('a call of a tool through the gateway is a span below its request, without arguments and result', async () => {
    const permissions = ['notes', 'away'].map((name) => ({ resource: `mcp:${name}:read`, actions: ['execute'] }));
    const agent = await t.agent(owner, { permissions });
    recorded.length = 0;
    const params = { name: 'read', arguments: { name: 'secret' } };
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    for (const server of ['notes', 'away']) await t.call('POST', `/gateway/${server}/mcp`, { as: agent, body });
    const [ok, failed] = recorded.filter(({ name }) => name === 'tools/call read');
    const requests = recorded.filter(({ name }) => name === 'POST /gateway/:name/mcp');
    expect([ok?.parent, failed?.parent]).toEqual(requests.map(({ spanId }) => spanId));
    expect(ok?.attributes).toEqual({
      'mcp.method.name': 'tools/call',
      'gen_ai.tool.name': 'read',
      'legate.gateway.server': 'notes',
      'legate.audit_id': expect.stringMatching(/^aud_/),
    });
    expect(failed).toMatchObject({ attributes: { 'error.type': 'unavailable' }, status: { code: 2 }, ended: 1 });
    expect(JSON.stringify(recorded)).not.toContain('secret');
  });

  it('a failure of the service is an error of its span', async () => {
    const broken = await createTestService();
    const user = await broken.user();
    await broken.legate.platform.database.close();
    recorded.length = 0;
    expect((await broken.call('GET', '/agents', { as: user })).status).toBe(503);
    expect(recorded).toMatchObject([{ attributes: { 'error.type': '503' }, status: { code: 2 }, ended: 1 }]);
  });

  it('a service created before an SDK was registered creates no spans', async () => {
    recorded.length = 0;
    expect((await plain.call('GET', '/health/live', { headers: { traceparent } })).status).toBe(200);
    expect(recorded).toEqual([]);
  });
});
