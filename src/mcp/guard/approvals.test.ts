import { describe, expect, it } from 'vitest';
import { guarded, modern, rpc } from '../../../test/support/guarded.ts';
import type { Json } from '../../../test/support/service.ts';

const PERMISSIONS = [{ resource: 'mcp:notes:*', actions: ['execute', 'read'], constraints: { requireApproval: true } }];
const ok = (message: Json) => ({
  body: { jsonrpc: '2.0', id: message.id, result: { done: message.method } },
  headers: message.method === 'initialize' ? { 'mcp-session-id': 'session-1' } : {},
});
const ABLE = { elicitation: { url: {} } };
const call = (more: Json = {}, capabilities: Json = ABLE): Json =>
  modern('tools/call', { name: 'pay', arguments: { to: 'acme', amount: 10 }, ...more }, capabilities);
const accepted = { approval: { action: 'accept' } };

describe.each(['web', 'express', 'express with a parser'] as const)('a call that waits for a person, by %s', (face) => {
  const ask = async (scene: Awaited<ReturnType<typeof guarded>>, message: Json, as = 'mine'): Promise<Json> =>
    (await scene.send(message, { as })).json();

  it('2026-07-28: the client shows the page, repeats the call, and the server sees nothing of it', async () => {
    const scene = await guarded(face, PERMISSIONS, ok);
    const { result } = await ask(scene, call());
    expect(result).toEqual({
      resultType: 'input_required',
      inputRequests: {
        approval: {
          method: 'elicitation/create',
          params: {
            mode: 'url',
            message: expect.stringContaining('"pay"'),
            url: expect.stringMatching(/^http:\/\/localhost:3000\/account\/approvals\/apr_/),
          },
        },
      },
      requestState: expect.any(String),
    });
    const id = result.inputRequests.approval.params.url.split('/').at(-1);
    const waiting = await ask(scene, call({ requestState: result.requestState, inputResponses: accepted }));
    expect(waiting.result).toEqual({ resultType: 'input_required', requestState: expect.any(String) });
    expect((await scene.t.call('POST', `/approvals/${id}/approve`, { as: scene.owner })).status).toBe(200);
    const repeated = call({ requestState: waiting.result.requestState });
    expect(await ask(scene, repeated)).toMatchObject({ result: { done: 'tools/call' } });
    expect(scene.reached).toEqual([call()]);
  });

  it('requestState is valid once, for one caller, one client and one call', async () => {
    const scene = await guarded(face, PERMISSIONS, ok);
    const { requestState } = (await ask(scene, call())).result;
    const invalid = { error: { code: -32602, message: expect.stringContaining('requestState') } };
    const last = requestState.at(-6) === 'A' ? 'B' : 'A';
    const changed = requestState.slice(0, -6) + last + requestState.slice(-5);
    expect(await ask(scene, call({ requestState: changed }))).toMatchObject(invalid);
    expect(await ask(scene, call({ requestState }), 'other')).toMatchObject(invalid);
    expect(await ask(scene, call({ requestState }), 'mine~cli_other')).toMatchObject(invalid);
    expect(await ask(scene, call({ requestState, arguments: { to: 'acme', amount: 11 } }))).toMatchObject(invalid);
    expect(await ask(scene, { ...call({ requestState }), method: 'prompts/get' })).toMatchObject(invalid);
    const reordered = call({ requestState, arguments: { amount: 10, to: 'acme' } });
    expect(await ask(scene, reordered)).toMatchObject({ result: { resultType: 'input_required' } });
    expect(await ask(scene, call({ requestState }))).toMatchObject(invalid);
    expect(scene.reached).toEqual([]);
  });

  it('passes on the requestState of the server, also after an approval', async () => {
    const scene = await guarded(face, PERMISSIONS, ok);
    const own = { requestState: 'of the server', inputResponses: { name: { action: 'accept' } } };
    const { result } = await ask(scene, call(own));
    const id = result.inputRequests.approval.params.url.split('/').at(-1);
    await scene.t.call('POST', `/approvals/${id}/approve`, { as: scene.owner });
    const repeated = call({ requestState: result.requestState, inputResponses: accepted });
    expect(await ask(scene, repeated)).toMatchObject({ result: { done: 'tools/call' } });
    expect(scene.reached[0].params).toMatchObject(own);
  });

  it('tells the model that the person denied, or where to approve if the user declined, and the record', async () => {
    const scene = await guarded(face, PERMISSIONS, ok);
    const lastRecord = async (): Promise<string> =>
      (await scene.t.call('GET', `/audit?agentId=${scene.agents.mine.id}&limit=1`, { as: scene.owner })).body[0].id;
    const first = (await ask(scene, call())).result;
    const declined = { approval: { action: 'decline' } };
    expect(await ask(scene, call({ requestState: first.requestState, inputResponses: declined }))).toMatchObject({
      result: {
        isError: true,
        content: [{ text: expect.stringContaining('/account/approvals/apr_') }],
        _meta: { reason: 'APPROVAL_REQUIRED', auditId: await lastRecord() },
      },
    });
    const second = (await ask(scene, call())).result;
    const auditId = await lastRecord();
    const id = second.inputRequests.approval.params.url.split('/').at(-1);
    const waiting = await ask(scene, call({ requestState: second.requestState, inputResponses: accepted }));
    await scene.t.call('POST', `/approvals/${id}/deny`, { as: scene.owner });
    expect(await ask(scene, call({ requestState: waiting.result.requestState }))).toMatchObject({
      result: { isError: true, _meta: { reason: 'APPROVAL_DENIED', approvalId: id, auditId } },
    });
    expect(scene.reached).toEqual([]);
  });
});

describe('a client that cannot show an address', () => {
  it.each([{}, { elicitation: {} }, { elicitation: { form: {} } }])(
    'with %j gets the link as text, with the advice to repeat the call',
    async (capabilities) => {
      const { send, t, owner } = await guarded('web', PERMISSIONS, ok);
      const { result } = (await (await send(call({}, capabilities))).json()) as Json;
      expect(result).toMatchObject({ isError: true, _meta: { reason: 'APPROVAL_REQUIRED' } });
      const { approvalId } = result._meta;
      expect(result.content[0].text).toContain(`/account/approvals/${approvalId} `);
      expect(result.content[0].text).toContain('repeat the identical call');
      await t.call('POST', `/approvals/${approvalId}/approve`, { as: owner });
      expect(await (await send(call({}, capabilities))).json()).toMatchObject({ result: { done: 'tools/call' } });
    },
  );
});

describe('a client of 2025-11-25', () => {
  const initialize = (capabilities: Json) =>
    rpc('initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'x', version: '1' } });
  const session = { 'mcp-session-id': 'session-1' };
  const pay = rpc('tools/call', { name: 'pay', arguments: { amount: 10 } });
  /** A client with url elicitation, and a function that opens a stream of its session. */
  async function openSession() {
    const scene = await guarded('web', PERMISSIONS, (message) =>
      message.method === undefined
        ? { body: new ReadableStream(), headers: { 'content-type': 'text/event-stream' } }
        : ok(message),
    );
    await (await scene.send(initialize(ABLE))).text();
    const listen = async () => (await scene.send(undefined, { method: 'GET', headers: session })).body;
    return { scene, listen };
  }

  it('with url elicitation gets -32042, and a notification on its stream after the decision', async () => {
    const { scene, listen } = await openSession();
    // The client listens again, for example because its network has changed. The earlier stream may be broken.
    const earlier = await listen();
    const stream = await listen();
    const reader = (stream as ReadableStream<Uint8Array>).getReader();
    const { error } = (await (await scene.send(pay, { headers: session })).json()) as Json;
    const [elicitation] = error.data.elicitations;
    expect([error.code, elicitation]).toEqual([
      -32042,
      {
        mode: 'url',
        elicitationId: expect.stringMatching(/^apr_/),
        url: `http://localhost:3000/account/approvals/${elicitation.elicitationId}`,
        message: expect.any(String),
      },
    ]);
    await scene.t.call('POST', `/approvals/${elicitation.elicitationId}/approve`, { as: scene.owner });
    expect(new TextDecoder().decode((await reader.read()).value)).toBe(
      'data: {"jsonrpc":"2.0","method":"notifications/elicitation/complete",' +
        `"params":{"elicitationId":"${elicitation.elicitationId}"}}\n\n`,
    );
    expect(await (await scene.send(pay, { headers: session })).json()).toMatchObject({
      result: { done: 'tools/call' },
    });
    await Promise.all([earlier?.cancel(), reader.cancel()]);
  });

  it('gets the notification on the stream that is still open after it has closed a later one', async () => {
    const { scene, listen } = await openSession();
    const open = await listen();
    await (await listen())?.cancel();
    const { error } = (await (await scene.send(pay, { headers: session })).json()) as Json;
    const [{ elicitationId }] = error.data.elicitations;
    await scene.t.call('POST', `/approvals/${elicitationId}/approve`, { as: scene.owner });
    const reader = (open as ReadableStream<Uint8Array>).getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toContain(elicitationId);
    await reader.cancel();
  });

  it('without url elicitation gets the link as text', async () => {
    const { send } = await guarded('web', PERMISSIONS, ok);
    await (await send(initialize({ elicitation: {} }))).text();
    expect(await (await send(pay, { headers: session })).json()).toMatchObject({ result: { isError: true } });
  });
});
