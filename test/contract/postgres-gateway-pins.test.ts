import { expect, it } from 'vitest';
import { SYSTEM } from '../../src/access/actor.ts';
import { applicationCaller } from '../../src/access/caller.ts';
import { decideTool } from '../../src/mcp/gateway/index.ts';
import { pinsState } from '../../src/mcp/gateway/pins/pins.ts';
import { parseServers } from '../../src/mcp/gateway/servers-file.ts';
import { createTestService } from '../support/service.ts';

const deferred = () => {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
};

it('a slow read of the decisions about tools does not replace a later decision', async () => {
  const { platform } = (await createTestService()).legate;
  const [server] = parseServers({ mcpServers: { notes: { command: 'notes' } } }, {});
  if (!server) throw new Error('no server');
  const pins = platform.stateOf(pinsState);
  const pin = 'sha256-1';
  const decide = (decision: 'approve' | 'block') =>
    decideTool(platform, applicationCaller(SYSTEM), { server: 'notes', tool: 'a', decision });
  await pins.listed(server, [], new Map());
  await pins.listed(server, [{ name: 'a' }], new Map([['a', { whole: pin, pin }]]));
  expect(pins.allows(server, 'a', pin)).toBe(false);
  await decide('approve');

  const [read, arrival] = [deferred(), deferred()];
  const slow = platform.database.read.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      read.resolve();
      await arrival.promise;
      return result;
    },
  });
  const reading = pins.load(slow);
  await read.promise;
  await decide('block');
  await pins.load();
  expect(pins.allows(server, 'a', pin)).toBe(false);
  arrival.resolve();
  await reading;
  expect(pins.allows(server, 'a', pin)).toBe(false);
});
