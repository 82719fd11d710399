import { expect, it, onTestFinished } from 'vitest';
import { Peer } from './peer.ts';
import { UpstreamListening } from './upstream-listening.ts';

it('a server that sends notifications on a stream that it does not acknowledge is not waited for', async () => {
  const peer = new Peer(({ message }) => ({
    send: async ({ id, method }) => {
      if (method !== 'subscriptions/listen') return;
      const _meta = { 'io.modelcontextprotocol/subscriptionId': id };
      message({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'a:b', _meta } });
    },
    close: async () => {},
  }));
  const heard: string[] = [];
  const info = { revision: '2026-07-28', capabilities: { resources: { subscribe: true } } };
  const listening = new UpstreamListening(peer, info as never, 20, (method) => heard.push(method));
  onTestFinished(() => listening.stop());
  const late = new Promise((resolve) => setTimeout(resolve, 2000, 'not answered'));
  expect(await Promise.race([listening.add(['a:b']), late])).toEqual(new Set(['a:b']));
  expect(heard).toEqual([]);
});
