import { describe, expect, it } from 'vitest';
import { listen } from '../../src/http/node.ts';
import { BY_NATURE, type Raw, send } from '../support/over-socket.ts';
import { createTestService } from '../support/service.ts';

describe('POST /authorize over a socket and through fetch', () => {
  it('have the same responses', async () => {
    const t = await createTestService();
    const owner = await t.user();
    const agent = await t.agent(owner, {
      permissions: [
        { resource: 'db:*', actions: ['read'] },
        { resource: 'capped', actions: ['read'], constraints: { maxCallsPerHour: 0 } },
      ],
    });
    const stranger = await t.agent(await t.user());
    const revoked = await t.agent(owner);
    await t.authorize(revoked, { action: 'read', resource: 'db:x' });
    await t.call('DELETE', `/agents/${revoked.id}`, { as: owner });
    const expired = await t.agent(owner, { expiresAt: new Date(t.clock.now() + 1000).toISOString() });
    await t.authorize(expired, { action: 'read', resource: 'db:x' });
    t.clock.advance(1000);
    const person = await t.call('POST', '/sign-up', { body: { email: 'p@example.com', password: 'long enough' } });
    const session = person.body.token as string;
    const cookieName = person.headers.get('set-cookie')?.split('=')[0];
    const narrow = await t.apiToken(owner.id, ['agents:read']);
    const server = await listen(t.legate, { port: 0, host: '127.0.0.1' });
    const json = { 'content-type': 'application/json' };
    const bearer = (token: string) => ({ ...json, authorization: `Bearer ${token}` });
    const ask = (more: object = {}) => JSON.stringify({ action: 'read', resource: 'db:x', ...more });
    const cases: [string, Record<string, string>, string | Buffer | undefined, string?][] = [
      ['allowed', bearer(agent.token), ask()],
      ['by the owner', bearer(owner.token), ask({ agentId: agent.id })],
      ['denied', bearer(agent.token), ask({ action: 'write' })],
      ['rate limited', bearer(agent.token), ask({ resource: 'capped' })],
      ['explained', bearer(agent.token), ask({ explain: true, dryRun: true })],
      ['dry', bearer(agent.token), ask({ dryRun: true })],
      [
        'with every field',
        bearer(owner.token),
        ask({
          agentId: agent.id,
          arguments: { a: [1, { b: 'ü' }] },
          context: { ip: '192.0.2.1', userAgent: 'x' },
          tokensCost: 1.5,
        }),
      ],
      ['unknown agent', bearer(owner.token), ask({ agentId: 'agt_00000000000000000000000000' })],
      ["another owner's agent", bearer(owner.token), ask({ agentId: stranger.id })],
      ['no agent', bearer(owner.token), ask()],
      ['another agent', bearer(stranger.token), ask({ agentId: agent.id })],
      ['no credential', json, ask()],
      ['bad credential', bearer('lgt_nonsense'), ask()],
      ['other scheme', { ...json, authorization: 'Basic YTpi' }, ask()],
      ['narrowed', bearer(narrow), ask({ agentId: agent.id })],
      ['empty body', bearer(agent.token), ''],
      ['no JSON', bearer(agent.token), '{'],
      ['an array', bearer(agent.token), '[]'],
      ['unknown field', bearer(agent.token), ask({ actoin: 'x' })],
      ['missing field', bearer(agent.token), '{"action":"read"}'],
      [
        'wrong types',
        bearer(agent.token),
        ask({ action: 1, arguments: [], context: 'x', explain: 'yes', tokensCost: -1 }),
      ],
      ['empty action', bearer(agent.token), ask({ action: '' })],
      ['long action', bearer(agent.token), ask({ action: 'x'.repeat(129) })],
      ['long resource', bearer(agent.token), ask({ resource: 'x'.repeat(513) })],
      ['NUL', bearer(agent.token), '{"action":"a\\u0000","resource":"x"}'],
      ['a lone surrogate', bearer(agent.token), '{"action":"\\ud800","resource":"x"}'],
      ['a repeated key', bearer(agent.token), '{"action":"a","action":"b","resource":"x"}'],
      [
        'a repeated key deep inside',
        bearer(agent.token),
        '{"action":"a","resource":"x","arguments":{"k":{"a":1,"a":2}}}',
      ],
      ['__proto__', bearer(agent.token), '{"action":"a","resource":"x","__proto__":{"agentId":"x"}}'],
      [
        '__proto__ in arguments',
        bearer(agent.token),
        '{"action":"a","resource":"x","arguments":{"__proto__":{"polluted":1}},"dryRun":true}',
      ],
      ['1e400', bearer(agent.token), '{"action":"a","resource":"x","arguments":{"n":1e400}}'],
      [
        'deep',
        bearer(agent.token),
        `{"action":"a","resource":"x","arguments":${'{"a":'.repeat(50)}1${'}'.repeat(50)}}`,
      ],
      ['broken UTF-8', bearer(agent.token), Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
      ['U+FFFD itself', bearer(agent.token), ask({ action: '\ufffd', dryRun: true })],
      ['too large', bearer(agent.token), ask({ arguments: { x: 'y'.repeat(66_000) } })],
      ['other content type', { ...bearer(agent.token), 'content-type': 'text/plain' }, ask()],
      ['no content type', { authorization: `Bearer ${agent.token}` }, ask()],
      ['charset', { ...bearer(agent.token), 'content-type': 'application/json; charset=utf-8' }, ask({ dryRun: true })],
      ['compressed', { ...bearer(agent.token), 'content-encoding': 'gzip' }, ask()],
      ['chunked', { ...bearer(agent.token), 'transfer-encoding': 'chunked' }, ask({ dryRun: true })],
      ['a query after the path', bearer(agent.token), ask({ dryRun: true }), '/authorize?x=1'],
      ['a byte order mark', bearer(agent.token), `\ufeff${ask({ dryRun: true })}`],
      ['only a byte order mark', bearer(agent.token), '\ufeff'],
      ['UTF-16', bearer(agent.token), Buffer.from(`\ufeff${ask()}`, 'utf16le')],
      ['overlong UTF-8', bearer(agent.token), Buffer.from('7b22c1a1223a317d', 'hex')],
      ['broken UTF-8 without a valid credential', bearer('lgt_nonsense'), Buffer.from([0x22, 0xff, 0x22])],
      ['no JSON without a valid credential', bearer('lgt_nonsense'), '{'],
      ['no JSON with a narrowed token', bearer(narrow), '{'],
      ['text/plain without a valid credential', { ...bearer('lgt_nonsense'), 'content-type': 'text/plain' }, ask()],
      ['a revoked token', bearer(revoked.token), ask()],
      ['a revoked token and no JSON', bearer(revoked.token), '{'],
      ['an expired token', bearer(expired.token), ask()],
      ['an expired token and no JSON', bearer(expired.token), '{'],
      ['an expired token about another agent', bearer(expired.token), ask({ agentId: agent.id })],
      [
        'an expired token about an unknown agent',
        bearer(expired.token),
        ask({ agentId: 'agt_00000000000000000000000000' }),
      ],
      ['a revoked agent', bearer(owner.token), ask({ agentId: revoked.id, dryRun: true })],
      [
        'a cookie',
        { ...json, cookie: `${cookieName}=${session}`, origin: t.legate.baseUrl },
        ask({ agentId: agent.id, dryRun: true }),
      ],
      [
        'a cookie from another origin',
        { ...json, cookie: `${cookieName}=${session}`, origin: 'https://evil.example' },
        ask({ agentId: agent.id }),
      ],
      ['a session as Bearer', bearer(session), ask({ agentId: agent.id, dryRun: true })],
      ['a credential in lower case', { ...json, authorization: `bearer ${agent.token}` }, ask({ dryRun: true })],
      ['a credential with spaces', { ...json, authorization: `Bearer   ${agent.token}  ` }, ask({ dryRun: true })],
      ['an empty credential', { ...json, authorization: 'Bearer ' }, ask()],
      ['a long credential', bearer('x'.repeat(20_000)), ask()],
      [
        'a credential with a changed letter',
        bearer(`${agent.token.slice(0, -1)}${agent.token.endsWith('0') ? '1' : '0'}`),
        ask(),
      ],
      ['text in capitals', { ...bearer(agent.token), 'content-type': 'APPLICATION/JSON' }, ask({ dryRun: true })],
      [
        'another charset',
        { ...bearer(agent.token), 'content-type': 'application/json;charset=iso-8859-1' },
        ask({ dryRun: true }),
      ],
      ['another JSON type', { ...bearer(agent.token), 'content-type': 'application/json5' }, ask()],
      ['several types', { ...bearer(agent.token), 'content-type': 'application/json, text/plain' }, ask()],
      ['identity', { ...bearer(agent.token), 'content-encoding': 'identity' }, ask()],
      ['the largest body', bearer(agent.token), ask({ dryRun: true }).padEnd(65_536)],
      ['a body with one byte too many', bearer(agent.token), ask({ dryRun: true }).padEnd(65_537)],
      ['too large in chunks', { ...bearer(agent.token), 'transfer-encoding': 'chunked' }, ask().padEnd(70_000)],
      ['null', bearer(agent.token), 'null'],
      ['a number', bearer(agent.token), '1'],
      ['a huge number', bearer(agent.token), ask({ tokensCost: 1e16 })],
      ['depth', bearer(agent.token), '['.repeat(60_000)],
      ['many keys', bearer(agent.token), `{${Array.from({ length: 5000 }, (_, i) => `"k${i}":1`).join()}}`],
      ['constructor', bearer(agent.token), ask({ constructor: { prototype: { polluted: true } } })],
      ['escapes', bearer(agent.token), '{"\\u0061ction":"re\\u0061d","resource":"db:\\ud83d\\ude00","dryRun":true}'],
      ['an empty id', bearer(agent.token), ask({ agentId: '' })],
      ['a trailing slash', bearer(agent.token), ask(), '/authorize/'],
      ['an encoded path', bearer(agent.token), ask({ dryRun: true }), '/%61uthorize'],
      ['an empty query', bearer(agent.token), ask({ dryRun: true }), '/authorize?'],
      ['an invalid address in context', bearer(owner.token), ask({ agentId: agent.id, context: { ip: 'localhost' } })],
    ];
    const same = (raw: Raw): unknown => ({
      ...raw,
      text: raw.text.replace(/aud_[0-9a-z]{26}/g, 'aud_').replace(/req_[0-9a-z]{26}/g, 'req_'),
    });
    for (const [name, headers, text, path = '/authorize'] of cases) {
      const body = text === undefined ? undefined : Buffer.from(text);
      const overSocket = await send(server.port, 'POST', path, headers, body);
      const { 'transfer-encoding': _, ...plain } = headers;
      const answer = await t.legate.fetch(
        new Request(`http://localhost:3000${path}`, {
          method: 'POST',
          headers: { ...plain, ...(body ? { 'content-length': String(body.length) } : {}) },
          ...(body ? { body: body as unknown as BodyInit } : {}),
        }),
        { remoteAddress: '127.0.0.1' },
      );
      const kept = [...answer.headers].filter(([n]) => !BY_NATURE.has(n));
      expect(same(overSocket), name).toEqual(
        same({ status: answer.status, headers: Object.fromEntries(kept), text: await answer.text() }),
      );
      expect(overSocket.status, name).toBeLessThan(500);
    }
    const rows = await t.legate.platform.database.read
      .selectFrom('stream_events')
      .select(['id', 'ip'])
      .where('type', '=', 'audit')
      .execute();
    expect(new Set(rows.map((r) => r.ip))).toEqual(new Set(['127.0.0.1', '192.0.2.1', null]));
    await server.stop(1000);
  });

  it('are refused from the moment at which the person has to set up a second factor', async () => {
    const t = await createTestService({ config: { users: { requireSecondFactor: 'admins' } } });
    const agent = await t.agent(await t.user(), { permissions: [{ resource: 'db:*', actions: ['read'] }] });
    const person = await t.call('POST', '/sign-up', { body: { email: 'p@example.com', password: 'long enough' } });
    const server = await listen(t.legate, { port: 0, host: '127.0.0.1' });
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${person.body.token}` };
    const body = Buffer.from(JSON.stringify({ agentId: agent.id, action: 'read', resource: 'db:x' }));
    const code = async () =>
      JSON.parse((await send(server.port, 'POST', '/authorize', headers, body)).text).error?.code;
    expect([await code(), await code()]).toEqual(['AGENT_NOT_FOUND', 'AGENT_NOT_FOUND']);
    const promoted = { as: await t.admin(), body: { role: 'admin' } };
    expect((await t.call('PATCH', `/users/${person.body.user.id}`, promoted)).status).toBe(200);
    expect([await code(), await code()]).toEqual(['SECOND_FACTOR_REQUIRED', 'SECOND_FACTOR_REQUIRED']);
    await server.stop(1000);
  });

  it('responds to forms of requests that only a socket has', async () => {
    const t = await createTestService();
    const agent = await t.agent(await t.user(), { permissions: [{ resource: 'db:*', actions: ['read'] }] });
    const server = await listen(t.legate, { port: 0, host: '127.0.0.1' });
    const json = { 'content-type': 'application/json', authorization: `Bearer ${agent.token}` };
    const body = Buffer.from('{"action":"read","resource":"db:x"}');
    const status = async (path: string, headers: Record<string, string | string[]>): Promise<number> =>
      (await send(server.port, 'POST', path, headers as Record<string, string>, body)).status;
    expect({
      'absolute form': await status(`http://localhost:${server.port}/authorize`, json),
      'absolute form of another host': await status('http://evil.example/authorize', json),
      'Expect: 100-continue': await status('/authorize', { ...json, expect: '100-continue' }),
      'Expect: 100-continue in chunks': await status('/authorize', {
        ...json,
        expect: '100-continue',
        'transfer-encoding': 'chunked',
      }),
      'another host': await status('/authorize', { ...json, host: 'evil.example' }),
      'an invalid host': await status('/authorize?x=1', { ...json, host: 'a b' }),
      'two paths': await status('//authorize', json),
      'a dot in the path': await status('/./authorize', json),
    }).toEqual({
      'absolute form': 200,
      'absolute form of another host': 200,
      'Expect: 100-continue': 200,
      'Expect: 100-continue in chunks': 200,
      'another host': 200,
      'an invalid host': 400,
      'two paths': 404,
      'a dot in the path': 200,
    });
    // With two credentials it would be undefined which one counts.
    for (const path of ['/authorize', '/authorize?x=1']) {
      expect(await status(path, { ...json, authorization: [`Bearer ${agent.token}`, 'Bearer x'] })).toBe(401);
      expect(await status(path, { ...json, 'content-type': ['application/json', 'text/plain'] })).toBe(415);
    }
    for (const [path, host] of [
      ['/agents', 'a b'],
      ['http://[bad/agents', 'localhost'],
    ] as const) {
      const refused = await send(server.port, 'GET', path, { host }, undefined);
      expect([refused.status, refused.headers['content-type'], JSON.parse(refused.text).error.code]).toEqual([
        400,
        'application/json; charset=utf-8',
        'VALIDATION_FAILED',
      ]);
    }
    await server.stop(1000);
  });
});
