import { expect, it } from 'vitest';
import { until } from '../../../test/support/until.ts';
import { isObject, type Message } from '../guard/json-rpc.ts';
import type { OnConnection } from './on-connection.ts';
import { type ChannelEvents, OutcomeUnknown, ServerUnavailable, SessionEnded } from './peer.ts';
import { parseServers } from './servers-file.ts';
import { Upstreams } from './upstreams.ts';

const RESULTS: Readonly<Record<string, Message>> = {
  initialize: { protocolVersion: '2025-11-25', serverInfo: {}, capabilities: { tools: {}, resources: {} } },
  'tools/list': { tools: [] },
};

/** Connections to a scripted server. A connection that ends needs the given time for that. */
function scripted(processes: number, ending: () => Promise<void> = async () => {}) {
  const [server] = parseServers({ mcpServers: { x: { command: 'x', legate: { limits: { processes } } } } }, {});
  const channels: (ChannelEvents & { readonly key: string })[] = [];
  /** What happens in the same moment in which an answer arrives. */
  let meanwhile = (_method: string): void => {};
  let alive = 0;
  let most = 0;
  const upstreams = new Upstreams(
    server as never,
    (key) => (events) => {
      channels.push({ key, ...events });
      most = Math.max(most, ++alive);
      return {
        send: async ({ id, method }) => {
          if (id === undefined) return;
          events.message({ jsonrpc: '2.0', id, result: RESULTS[String(method)] ?? { task: { taskId: 't' } } });
          meanwhile(String(method));
        },
        close: async () => {
          await ending();
          alive--;
        },
      };
    },
    { listed: () => {}, notified: () => {}, opened: () => {}, ended: () => {}, failed: () => {} },
  );
  return {
    ...{ upstreams, channels },
    most: () => most,
    during: (then: typeof meanwhile) => {
      meanwhile = then;
    },
  };
}

const call = (upstreams: Upstreams, key: string, on: OnConnection = {}) =>
  upstreams.request(key, 'tools/call', { name: 'x' }, {}, on);

it('what an answer creates belongs to the connection of the answer, which is held until it is released', async () => {
  const { upstreams, channels } = scripted(1);
  let release = (): void => {};
  await call(upstreams, 'a', {
    answered: (answer, hold) => {
      expect('result' in answer && isObject(answer.result['task'])).toBe(true);
      const held = hold();
      expect(held.isOpen).toBe(true);
      release = () => held.release();
    },
  });
  // The only connection is in use.
  await expect(call(upstreams, 'b')).rejects.toThrow('too many connections');
  release();
  await call(upstreams, 'b');
  expect(channels.map(({ key }) => key)).toEqual(['a', 'b']);
});

it.each([
  ['its connection breaks', (_: Upstreams, channel: ChannelEvents) => channel.ended(new Error('it crashed'))],
  ['the gateway stops', (upstreams: Upstreams) => upstreams.finish()],
])('what an answer creates is unknown if at the same moment %s', async (_name, happens) => {
  const { upstreams, channels, during } = scripted(1);
  await upstreams.info('a');
  during(() => happens(upstreams, channels[0] as ChannelEvents));
  await expect(call(upstreams, 'a', { answered: (_answer, hold) => void hold() })).rejects.toThrow(OutcomeUnknown);
  // No other connection was opened for it.
  expect(channels).toHaveLength(1);
});

it('a hold states whether its connection is still open, and does not open another one', async () => {
  const { upstreams, channels, during } = scripted(1);
  await upstreams.info('a');
  const { hold } = await upstreams.subscribe('a', ['file:///x']);
  expect(hold.isOpen).toBe(true);
  channels[0]?.ended(new Error('it crashed'));
  expect(hold.isOpen).toBe(false);
  hold.release();
  await upstreams.end();
  await upstreams.info('a');
  during((method) => method === 'resources/subscribe' && channels[1]?.ended(new Error('it crashed')));
  await expect(upstreams.subscribe('a', ['file:///x'])).rejects.toThrow(OutcomeUnknown);
  expect(channels).toHaveLength(2);
});

it('a connection that is ending counts against the limit until its process has ended', async () => {
  const ends: (() => void)[] = [];
  const { upstreams, channels, most } = scripted(2, () => new Promise((resolve) => ends.push(resolve)));
  await Promise.all(['a', 'b'].map((key) => call(upstreams, key)));
  // Both are idle, and end for others, which wait. One of these is no longer needed.
  const waiting = ['c', 'd'].map((key) => call(upstreams, key).catch(({ message }) => message));
  await until(() => ends.length === 2);
  expect(channels).toHaveLength(2);
  void upstreams.endPerson('c');
  expect(await waiting[0]).toBe('it was closed');
  const last = call(upstreams, 'e');
  for (const end of ends.splice(0)) end();
  await until(() => ends.length === 0 && channels.length === 4);
  await Promise.all([waiting[1], last]);
  expect(channels.map(({ key }) => key)).toEqual(['a', 'b', 'd', 'e']);
  expect(most()).toBe(2);
});

it('a connection that cannot be opened at all does not count against the limit', async () => {
  const [server] = parseServers({ mcpServers: { x: { command: 'x', legate: { limits: { processes: 1 } } } } }, {});
  const failed: string[] = [];
  const events = { listed: () => {}, notified: () => {}, opened: () => {}, ended: () => {} };
  const openFor = (key: string) => (channel: ChannelEvents) => {
    if (key !== 'b') throw new Error('spawn EAGAIN');
    return {
      send: async ({ id, method }: Message) => {
        if (id !== undefined) channel.message({ jsonrpc: '2.0', id, result: RESULTS[String(method)] ?? {} });
      },
      close: async () => {},
    };
  };
  const upstreams = new Upstreams(server as never, openFor, { ...events, failed: (problem) => failed.push(problem) });
  await expect(call(upstreams, 'a')).rejects.toThrow(ServerUnavailable);
  await call(upstreams, 'b');
  await expect(call(upstreams, 'a')).rejects.toThrow('it failed recently');
  expect(failed).toEqual(['spawn EAGAIN']);
});

it('a new session of a person whose connection failed is not connected before the pause has ended', async () => {
  const { upstreams, channels } = scripted(9);
  await upstreams.info('alice one');
  channels[0]?.ended(new Error('it crashed'));
  await expect(call(upstreams, 'alice two')).rejects.toThrow('it failed recently');
  await upstreams.info('bob one');
  await upstreams.endPerson('alice');
  await upstreams.info('alice two');
  expect(channels.map(({ key }) => key)).toEqual(['alice one', 'bob one', 'alice two']);
});

it('the end of one connection leaves pauses and the known problem, and does not wait for others', async () => {
  const ends: (() => void)[] = [];
  const { upstreams, channels } = scripted(9, () => new Promise((resolve) => ends.push(resolve)));
  for (const key of ['alice one', 'alice two', 'bob one']) await upstreams.info(key);
  for (const one of [1, 2]) channels[one]?.ended(new Error('it crashed'));
  const ending = upstreams.end('alice one');
  await until(() => ends.length === 3);
  ends[2]?.();
  await ending;
  expect(upstreams.problem).toBe('it crashed');
  for (const key of ['alice two', 'bob one']) await expect(call(upstreams, key)).rejects.toThrow('it failed recently');
  const all = upstreams.end();
  for (const end of ends) end();
  await all;
  expect(upstreams.problem).toBeUndefined();
  await call(upstreams, 'bob one');
});

it.each([
  ['of their person end at once', (upstreams: Upstreams) => upstreams.endPerson('alice'), 'it was closed'],
  ['of other people continue', (upstreams: Upstreams) => upstreams.endPerson('bob'), undefined],
])('calls on a connection whose session has ended at the server, %s', async (_name, end, failure) => {
  const [server] = parseServers({ mcpServers: { x: { command: 'x' } } }, {});
  const events = { listed: () => {}, notified: () => {}, opened: () => {}, ended: () => {}, failed: () => {} };
  let hasEnded = false;
  let answerLate = (): void => {};
  const openFor = () => (channel: ChannelEvents) => ({
    send: async ({ id, method, params }: Message) => {
      const answer = () => channel.message({ jsonrpc: '2.0', id, result: RESULTS[String(method)] ?? {} });
      const { name } = isObject(params) ? params : {};
      if (name === 'slow') answerLate = answer;
      else if (name === 'ends' && !hasEnded) {
        hasEnded = true;
        throw new SessionEnded('its session ended');
      } else if (id !== undefined) answer();
    },
    close: async () => {},
  });
  const upstreams = new Upstreams(server as never, openFor, events);
  await upstreams.info('alice one');
  const slow = upstreams.request('alice one', 'tools/call', { name: 'slow' }, {}).then(
    () => undefined,
    ({ message }) => message,
  );
  await upstreams.request('alice one', 'tools/call', { name: 'ends' }, {});
  await end(upstreams);
  answerLate();
  expect(await slow).toBe(failure);
});
