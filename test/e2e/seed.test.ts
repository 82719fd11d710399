import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LegateClient } from '../../src/client/index.ts';
import { legate, root, scratchFolder, serve } from '../support/cli.ts';

const docs = readFileSync(join(root, 'docs/seed.md'), 'utf8');
const block = (kind: string): string => new RegExp(`\`\`\`${kind}\\n(.*?)\`\`\``, 's').exec(docs)?.[1] as string;
const output = block('console').slice(block('console').indexOf('\n') + 1);
const env = { LEGATE_ADMIN_EMAIL: 'ada@example.com', LEGATE_ADMIN_PASSWORD: 'correct horse battery staple' };

describe('legate seed', () => {
  it('behaves as described in docs/seed.md, once, in the database of the folder', async () => {
    const cwd = scratchFolder();
    writeFileSync(join(cwd, 'seed.yaml'), block('yaml'));
    const seed = (...more: string[]) => legate(['seed', 'seed.yaml', ...more], { cwd, env });
    expect(await seed()).toMatchObject({ code: 1, stderr: expect.stringContaining('There is no database') });
    await (await serve({ cwd, env })).stop();

    const dry = await seed('--dry-run', '--tokens', 'tokens.json');
    expect(dry).toEqual({ code: 0, stdout: output.replace(/Done.*\n/, ''), stderr: '' });
    expect(await seed('--tokens', 'tokens.json')).toEqual({ code: 0, stdout: output, stderr: '' });
    const tokens = JSON.parse(readFileSync(join(cwd, 'tokens.json'), 'utf8'));
    expect(tokens).toMatchObject([
      { name: 'triage', owner: 'ada@example.com', id: expect.stringMatching(/^agt_/), token: expect.any(String) },
      { name: 'helper' },
    ]);
    expect(statSync(join(cwd, 'tokens.json')).mode & 0o777).toBe(0o600);
    expect(output).not.toContain(tokens[0].token);
    // A second run changes nothing, also with the same command. A file with tokens is never overwritten.
    const same = await seed('--tokens', 'tokens.json');
    expect(same).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/ 3 unchanged\.\nDone\.\n$/) });
    writeFileSync(join(cwd, 'more.yaml'), 'agents: {another: {owner: ada@example.com}}');
    const more = await legate(['seed', 'more.yaml', '--tokens', 'tokens.json'], { cwd, env });
    expect(more).toMatchObject({ code: 1, stderr: expect.stringContaining('tokens.json already exists') });
    expect(JSON.parse(readFileSync(join(cwd, 'tokens.json'), 'utf8'))).toEqual(tokens);
    const again = await seed('--tokens', 'others.json');
    expect(again.stdout).toContain('0 agents to create, 0 to change, 0 delegations to create, 3 unchanged.\nDone.\n');
    expect(() => statSync(join(cwd, 'others.json'))).toThrow('ENOENT');
  });

  it('sends a token of another form to the service, and prints nothing of it', async () => {
    const cwd = scratchFolder();
    const { url } = await serve({ cwd });
    writeFileSync(join(cwd, 'seed.csv'), 'name,type,owner,resource,actions\ntriage,delegated,,db:x,read\n');
    const token = `other.${Buffer.from('a secret of another issuer').toString('base64url')}`;
    const { code, stderr } = await legate(['seed', 'seed.csv', '--url', url], { cwd, env: { LEGATE_TOKEN: token } });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^UNAUTHORIZED: .*\n$/)]);
  });

  it('seeds a running service from CSV, changes what differs, and undoes everything if a step fails', async () => {
    const cwd = scratchFolder();
    const { url } = await serve({ cwd, env });
    const password = env.LEGATE_ADMIN_PASSWORD;
    const signedIn = await new LegateClient({ baseUrl: url }).signIn({ email: 'ada@example.com', password });
    const token = (signedIn as { token: string }).token;
    const client = new LegateClient({ baseUrl: url, token });
    const seed = (name: string, text: string) => {
      writeFileSync(join(cwd, name), text);
      return legate(['seed', name, '--url', url, '--token', token], { cwd });
    };
    const permissions = async (): Promise<string[]> => {
      const { items } = await client.agents.list({ status: 'active' }).page();
      return items.map((agent) => `${agent.name} ${agent.permissions.map((p) => p.resource)}`).sort();
    };
    const csv = `${block('csv')}"say ""hi""",service,,"app:a,b:x",execute\nidle,,,,\n`;
    expect((await seed('agents.csv', csv)).stdout).toContain('3 agents to create');
    const seeded = ['idle ', 'say "hi" app:a,b:x', 'triage mcp:github:*,mcp:slack:post'];
    expect(await permissions()).toEqual(seeded);

    const wider = csv.replace('mcp:slack:post', 'mcp:slack:*');
    expect((await seed('wider.csv', wider)).stdout).toContain(
      '~ agent triage of ada@example.com: 2 permissions instead',
    );
    expect(await permissions()).toContain('triage mcp:github:*,mcp:slack:*');
    await seed('agents.csv', csv);

    // The last delegation gives a permission that its agent does not have.
    const tooMuch = {
      agents: {
        new: { permissions: [] },
        triage: { owner: 'ada@example.com', permissions: [{ resource: 'a', actions: ['x'] }] },
      },
      delegations: [
        { from: 'triage', to: 'new', permissions: [{ resource: 'a', actions: ['x'] }] },
        { from: 'new', to: 'triage', permissions: [{ resource: 'b', actions: ['x'] }] },
      ],
    };
    const failed = await seed('too-much.json', JSON.stringify(tooMuch));
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('All earlier steps were reversed.') });
    expect(await permissions()).toEqual(seeded);
    expect((await client.delegations.list().page()).items).toEqual([]);

    const stranger = csv.replaceAll('ada@example.com', 'nobody@example.com');
    expect(await seed('stranger.csv', stranger)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('No user has the address nobody@example.com'),
    });
  });

  it.each([
    [
      'a.yaml',
      'agents:\n  a:\n    permissions:\n      - resource: x\n',
      2,
      /a\.yaml:4: agents\.a\.permissions\.0\.actions/,
    ],
    [
      'a.yaml',
      'agents: {}\ndelegations:\n  - { from: a, to: b, permissions: [{resource: x, actions: [y]}] }\n',
      2,
      /a\.yaml:3: .*agent a is not in this file/,
    ],
    ['a.csv', 'name,owner\n', 2, /a\.csv:1: the first line must be name,type,owner,resource,actions/],
    ['a.csv', 'name,type,owner,resource,actions\na,robot,,x,y\n', 2, /a\.csv:2: type: /],
    ['a.csv', 'name,type,owner,resource,actions\n"a,service,,x,y\n', 2, /a\.csv:2: a quotation mark is not closed/],
    ['a.csv', 'name,type,owner,resource,actions\na,service,,x\n', 2, /a\.csv:2: has 4 fields instead of 5/],
  ])('refuses %s and names its line: %#', async (name, text, code, message) => {
    const cwd = scratchFolder();
    writeFileSync(join(cwd, name), text);
    const result = await legate(['seed', name], { cwd });
    expect(result.code).toBe(code);
    expect(result.stderr).toMatch(message);
  });
});
