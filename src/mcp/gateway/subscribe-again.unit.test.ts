import { expect, it } from 'vitest';
import { until } from '../../../test/support/until.ts';
import type { Message } from '../guard/json-rpc.ts';
import { type ChannelEvents, SessionEnded } from './peer.ts';
import { parseServers } from './servers-file.ts';
import { ClientSessions } from './sessions.ts';
import { subscribeAgain } from './subscribe-again.ts';
import { Upstreams } from './upstreams.ts';

const AUTH = { agentId: 'agt_a', userId: 'usr_a', token: '', clientId: '', scopes: [], expiresAt: 0 } as never;

/** A session that listens to these resources, and a server that answers requests to subscribe as `answer` says. */
function scene(uris: readonly string[], answer: (uri: string) => Message | 'forgotten' | undefined) {
  const legate = { limits: { callSeconds: 1 } };
  const [server] = parseServers({ mcpServers: { x: { url: 'http://x.test/', legate } } }, {});
  let opened = 0;
  const openFor = () => (channel: ChannelEvents) => {
    opened++;
    return {
      send: async ({ id, method, params }: Message) => {
        if (id === undefined) return;
        const results: Record<string, Message> = {
          initialize: { protocolVersion: '2025-11-25', serverInfo: {}, capabilities: { tools: {}, resources: {} } },
          'tools/list': { tools: [] },
        };
        const result = results[String(method)];
        const answered = result ? { result } : answer(String((params as Message)['uri']));
        if (answered === 'forgotten') throw new SessionEnded('it has forgotten the session');
        if (answered) channel.message({ jsonrpc: '2.0', id, ...answered });
      },
      close: async () => {},
    };
  };
  const sessions = new ClientSessions();
  const given = { id: 's', key: 'k', capabilities: {}, revision: '2025-11-25', offered: {} };
  sessions.open(AUTH, given);
  for (const uri of uris) sessions.find(AUTH, 's')?.subscriptions.add(uri);
  let done = 0;
  const upstreams: Upstreams = new Upstreams(server as never, openFor, {
    opened: (key) => void subscribeAgain(upstreams, sessions, key).finally(() => done++),
    ...{ listed: () => {}, notified: () => {}, ended: () => {}, failed: () => {} },
  });
  return { upstreams, sessions, opened: () => opened, done: () => done };
}

it('subscriptions that the server does not confirm are deleted, so that new requests reach it', async () => {
  const uris = ['file:///gone', 'file:///a', 'file:///silent', 'file:///b'];
  const { upstreams, sessions, done } = scene(uris, (uri) => {
    if (uri === 'file:///silent') return undefined;
    return uri === 'file:///gone' ? { error: { code: -32602, message: 'Resource not found' } } : { result: {} };
  });
  await upstreams.info('k');
  await until(() => done() === 1);
  // What follows one that is not answered in time was not sent.
  expect(sessions.unheard('k', uris)).toEqual(['file:///gone', 'file:///silent', 'file:///b']);
  await upstreams.end();
});

it('a server that forgets the session with each subscription gets one connection per request of a client', async () => {
  const { upstreams, sessions, opened, done } = scene(['file:///a'], () => 'forgotten');
  for (let i = 1; i <= 3; i++) {
    await upstreams.info('k');
    await until(() => done() === i);
    expect(opened()).toBe(i);
  }
  expect(sessions.unheard('k', ['file:///a'])).toEqual([]);
  await upstreams.end();
});
