import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { claimsOf, register, signUp, tokens } from '../../../test/support/oauth.ts';
import { createTestService, type TestAgent, type TestService, type TestUser } from '../../../test/support/service.ts';
import { type Stream, streamsOfTests } from '../../../test/support/stream.ts';

let t: TestService;
let owner: TestUser;
let subject: TestAgent;
let happened = 0;
beforeAll(async () => {
  t = await createTestService({ lasting: true });
  owner = await t.user();
});

beforeEach(async () => {
  subject = await t.agent(owner);
});

const openOn = streamsOfTests();
const open = (token: string): Promise<Stream> => openOn(t, { as: token });
const inSeconds = (n: number): string => new Date(t.clock.now() + n * 1000).toISOString();
const MAY_FOLLOW = { permissions: [{ resource: 'legate:events', actions: ['read'] }] };

/** Records a decision that every stream of the owner shows. Returns its resource. */
const happen = async (): Promise<string> => {
  const resource = `x:${++happened}`;
  await t.authorize(subject, { action: 'read', resource });
  return resource;
};
const resourcesOf = ({ seen }: Stream): unknown[] => seen.map((s) => s.data.data?.resource);
/** Waits until the stream shows a new event, and so until it has checked its credential again. */
const goesOn = async (stream: Stream): Promise<void> => {
  const resource = await happen();
  await stream.until(() => resourcesOf(stream).includes(resource));
};
const ended = async (stream: Stream, later: string): Promise<void> => {
  await stream.end();
  expect(stream.seen.at(-1)).toMatchObject({ event: 'error', data: { code: 'UNAUTHORIZED' } });
  expect(resourcesOf(stream)).not.toContain(later);
};

describe('a stream ends when its credential expires, before any later event', () => {
  it('of an agent', async () => {
    const agent = await t.agent(owner, { ...MAY_FOLLOW, expiresAt: inSeconds(60) });
    const stream = await open(agent.token);
    await goesOn(stream);
    t.clock.advance(60_000);
    await ended(stream, await happen());
  });

  it('of an agent whose expiry was set or moved while the stream was open', async () => {
    const agent = await t.agent(owner, MAY_FOLLOW);
    const stream = await open(agent.token);
    for (const seconds of [30, 120])
      await t.call('PATCH', `/agents/${agent.id}`, { as: owner, body: { expiresAt: inSeconds(seconds) } });
    t.clock.advance(119_000);
    await goesOn(stream);
    t.clock.advance(1000);
    await ended(stream, await happen());
  });

  it('of an access token whose agent expires first', async () => {
    const person = await signUp(t);
    const token = (await tokens(t, person, await register(t), { scope: 'events:read' })).access_token;
    subject = await t.agent(person);
    const stream = await open(token);
    const body = { expiresAt: inSeconds(60) };
    await t.call('PATCH', `/agents/${claimsOf(token).sub}`, { as: person, body });
    await goesOn(stream);
    t.clock.advance(60_000);
    await ended(stream, await happen());
  });

  it('of an API token', async () => {
    const body = { name: 'short', expiresAt: inSeconds(60) };
    const token = (await t.call('POST', '/api-tokens', { as: owner, body })).body;
    const stream = await open(token.token);
    await goesOn(stream);
    t.clock.advance(60_000);
    await ended(stream, await happen());
  });
});
