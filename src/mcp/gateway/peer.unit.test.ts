import { describe, expect, it } from 'vitest';
import { type Answer, type ChannelEvents, OutcomeUnknown, Peer } from './peer.ts';

const TOO_DEEP: unknown = JSON.parse('['.repeat(50_000) + ']'.repeat(50_000));
/** `Number` and `String` throw for it. */
const NOT_A_NAME = { toString: 1, valueOf: 1 };

/** A peer with one running request, whose id is 1, and what it has received. */
function running() {
  let events: ChannelEvents | undefined;
  const sent: unknown[] = [];
  const heard: unknown[] = [];
  const peer = new Peer(
    (given) => {
      events = given;
      return { send: async (message) => void sent.push(message), close: async () => {} };
    },
    { notified: (method) => heard.push(method) },
  );
  const progress = (params: unknown) => heard.push(params);
  const answer = peer.request('tools/call', {}, { timeoutMs: 60_000, progress });
  return { answer, sent, heard, receive: (message: object) => events?.message({ jsonrpc: '2.0', ...message }) };
}

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';

describe('a message of a server', () => {
  it.each([
    ['progress for an object', { method: 'notifications/progress', params: { progressToken: NOT_A_NAME } }],
    ['a notification for an object', { method: 'notifications/x', params: { _meta: { [SUBSCRIPTION]: NOT_A_NAME } } }],
    ['progress that is too deep', { method: 'notifications/progress', params: { progressToken: 1, x: TOO_DEEP } }],
    ['a notification that is too deep', { method: 'notifications/message', params: { data: TOO_DEEP } }],
    ['a request with an id that is too deep', { id: TOO_DEEP, method: 'ping' }],
    ['an answer to an object', { id: NOT_A_NAME, result: {} }],
  ])('with %s is dropped', async (_what, message) => {
    const { answer, sent, heard, receive } = running();
    expect(() => receive(message)).not.toThrow();
    receive({ id: 1, result: { own: true } });
    expect(await answer).toEqual({ result: { own: true } } satisfies Answer);
    expect([sent.length, heard]).toEqual([1, []]);
  });

  it.each(['result', 'error'])('with a %s that is too deep leaves the outcome unknown', async (member) => {
    const { answer, receive } = running();
    receive({ id: 1, [member]: { x: TOO_DEEP } });
    await expect(answer).rejects.toThrow(new OutcomeUnknown('its answer is nested too deeply'));
  });

  it('with progress is passed on, also if the server writes the number of the request as text', () => {
    const { heard, receive } = running();
    for (const progressToken of [1, '1', 2, '', null])
      receive({ method: 'notifications/progress', params: { progressToken } });
    expect(heard).toEqual([{ progressToken: 1 }, { progressToken: '1' }]);
  });
});
