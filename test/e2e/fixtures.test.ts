import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { legate, root, scratchFolder, serve } from '../support/cli.ts';
import type { Json } from '../support/service.ts';

const blocks = [...readFileSync(join(root, 'docs/fixtures.md'), 'utf8').matchAll(/```(\w+)\n(.*?)```/gs)].map(
  ([, kind, text]) => ({ kind, text: text as string }),
);
const example = blocks.find((b) => b.kind === 'yaml')?.text as string;
/** The output in a console block, after its command. */
const outputs = blocks.filter((b) => b.kind === 'console').map((b) => b.text.slice(b.text.indexOf('\n') + 1));

function folderWith(files: Record<string, string>): string {
  const cwd = scratchFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  return cwd;
}
const test = (text: string, more: string[] = [], files: Record<string, string> = {}) =>
  legate(['test', 'permissions.yaml', ...more], {
    cwd: folderWith({ 'permissions.yaml': text, ...files }),
    env: { TZ: 'America/New_York' },
  });

describe('legate test', () => {
  it('exits with 0 for the example of the documentation', async () => {
    expect(await test(example)).toEqual({ code: 0, stdout: outputs[0], stderr: '' });
  });

  it('exits with 0 for the example of the README', async () => {
    const readme = /```yaml\n(# permissions\.yaml\n.*?)```/s.exec(
      readFileSync(join(root, 'README.md'), 'utf8'),
    )?.[1] as string;
    expect(await test(readme)).toEqual({ code: 0, stdout: 'permissions.yaml: 2 decisions as expected.\n', stderr: '' });
  });

  it('shows a difference with its line and exits with 1', async () => {
    const wider = example.replace('actions: [read]\n', 'actions: [read, comment]\n');
    expect(await test(wider)).toEqual({ code: 1, stdout: outputs[1], stderr: '' });
  });

  it('accepts JSON, and a policy in a separate file', async () => {
    const policy = JSON.stringify({ agents: { a: { permissions: [{ resource: 'db:*', actions: ['read'] }] } } });
    const tests = [{ agent: 'a', action: 'read', resource: 'db:x', expect: 'denied' }];
    const named = await test(JSON.stringify({ policy: 'policy.json', tests }, null, 2), [], { 'policy.json': policy });
    expect([named.code, named.stdout]).toEqual([
      1,
      'permissions.yaml:4: a read db:x\n  - denied\n  + allowed  (by read db:*)\n\npermissions.yaml: 1 of 1 ' +
        'decision differs.\n',
    ]);
    expect((await test(JSON.stringify({ tests }), ['--policy', 'policy.json'], { 'policy.json': policy })).code).toBe(
      1,
    );
  });

  it.each([
    ['not YAML', example.replace('agents:\n', 'agents: [\n'), /^permissions\.yaml:\d+: /],
    [
      'a misspelt field',
      example.replace('    expect: allowed', '    expects: allowed'),
      /permissions\.yaml:26: tests\.0\.expects: unknown field/,
    ],
    ['a missing field', example.replace('    action: delete\n', ''), /permissions\.yaml:28: tests\.1\.action: /],
    [
      'an unknown result',
      example.replace('expect: denied', 'expect: maybe'),
      /permissions\.yaml:38: tests\.2\.expect: must be allowed, denied, or the reason/,
    ],
    [
      'an unknown constraint',
      example.replace('maxCallsPerHour', 'maxCallPerHour'),
      /permissions\.yaml:7: agents\.triage\.permissions\.0\.constraints\.maxCallPerHour: unknown field/,
    ],
    [
      'an unknown agent',
      example.replace('agent: helper', 'agent: helpers'),
      /permissions\.yaml:35: tests\.2\.agent: agent helpers is not in the policy\. Agents: triage, helper/,
    ],
    [
      'more than the source has',
      example.replace('actions: [read]', 'actions: [merge]'),
      /permissions\.yaml:15: delegations\.0\.permissions\.0: INSUFFICIENT_PERMISSIONS: /,
    ],
    [
      'no agents at all',
      'tests: [{ agent: a, action: b, resource: c, expect: denied }]',
      /permissions\.yaml has no agents/,
    ],
  ])('names field and line of an invalid file and exits with 2: %s', async (_, text, says) => {
    const { code, stdout, stderr } = await test(text);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(says);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it('exits with 2 without the file or service, with 64 for wrong usage', async () => {
    expect((await legate(['test', 'nowhere.yaml'])).code).toBe(2);
    expect((await legate(['test'])).code).toBe(64);
    expect((await test(example, ['--url', 'http://127.0.0.1:9'])).code).toBe(64);
    const plain = 'tests: [{ agent: a, action: b, resource: c, expect: denied }]';
    expect(await test(plain, ['--url', 'http://127.0.0.1:9', '--token', 'x'])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'Nothing answers at http://127.0.0.1:9.\n',
    });
  });

  it('asks a running service, which counts and records nothing', async () => {
    const cwd = scratchFolder();
    const running = await serve({ cwd });
    expect(
      (await legate(['admin', 'create', '--email', 'first@example.com'], { cwd, input: 'correct horse battery\n' }))
        .code,
    ).toBe(0);
    const token = (await legate(['admin', 'token'], { cwd })).stdout.trim();
    const call = async (method: string, path: string, body?: object) => {
      const r = await fetch(running.url + path, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
      expect(r.ok).toBe(true);
      return (await r.json()) as Json;
    };
    const { user } = await call('POST', '/sign-in', { email: 'first@example.com', password: 'correct horse battery' });
    const agent = await call('POST', '/agents', {
      ownerId: user.id,
      name: 'triage',
      type: 'service',
      permissions: [{ resource: 'db:*', actions: ['read'], constraints: { maxCallsPerHour: 1 } }],
    });
    const table = (expected: string) =>
      JSON.stringify(
        ['triage', agent.id, agent.id].map((name) => ({
          agent: name,
          action: 'read',
          resource: 'db:x',
          expect: expected,
        })),
      );
    const flags = ['--url', running.url, '--token', token];
    expect(await test(`tests: ${table('allowed')}`, flags)).toEqual({
      code: 0,
      stdout: 'permissions.yaml: 3 decisions as expected.\n',
      stderr: '',
    });
    const wrong = await test(`tests: ${table('denied')}`, flags);
    expect([wrong.code, wrong.stdout]).toEqual([1, expect.stringContaining('3 of 3 decisions differ.')]);
    expect(wrong.stdout).toContain('triage read db:x\n  - denied\n  + allowed  (by read db:*)');
    expect(await call('GET', '/audit')).toEqual([]);
    const clocked = await test('tests: [{ agent: triage, action: b, resource: c, expect: denied, after: 1 }]', flags);
    expect([clocked.code, clocked.stderr]).toEqual([
      2,
      expect.stringContaining('tests.0.after: cannot be used with --url'),
    ]);
    const strange = await test('tests: [{ agent: nobody, action: b, resource: c, expect: denied }]', flags);
    expect([strange.code, strange.stderr]).toEqual([
      2,
      expect.stringContaining('permissions.yaml:1: tests.0.agent: agent nobody not found'),
    ]);
    expect(await running.stop()).toBe(0);
  });
});
