import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { listen } from '../../src/http/node.ts';
import { createLegate } from '../../src/service.ts';
import { PROGRAM, root, run, scratchFolder } from '../support/cli.ts';
import type { Json } from '../support/service.ts';

/** Makes every connection of these processes throw. */
const OFFLINE = `--import=data:text/javascript,${encodeURIComponent(
  "import net from 'node:net'; import dgram from 'node:dgram';" +
    "net.Socket.prototype.connect = dgram.Socket.prototype.send = () => { throw new Error('no network'); };",
)}`;

/** Replaces everything that differs between runs: names of logs, keys, ids, times and numbers. */
const normalized = (text: string): string =>
  text
    .replace(/[\w.:-]+\/ledger\/[0-9a-f]{8}/g, 'ORIGIN')
    .replace(/\+[0-9a-f]{8}(\+[\w+/=]+)?/g, '+KEY')
    .replace(/\b(aud|agt|usr|evt)_\w+/g, 'ID')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/seqs(\\?":? ?\\?)"[\d,-]+/g, 'seqs$1"ROWS')
    .replace(/\d+(\.\d+)*/g, 'N');

const ignore = (): void => {};
const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };

interface Block {
  readonly language: string;
  readonly text: string;
}

const blocksOf = (guide: string): Block[] =>
  [...readFileSync(join(root, 'docs/guides', guide), 'utf8').matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(
    ([, language = '', text = '']) => ({ language, text }),
  );

/**
 * A service with a sealed ledger, an administrator, an auditor, a person with an agent, and a folder with the tools.
 */
async function createScene() {
  const [dataDir, cwd] = [join(scratchFolder(), '.legate'), scratchFolder()];
  const legate = await createLegate({ dataDir }, { env: {}, log });
  const server = await listen(legate, { port: 0, host: '127.0.0.1' });
  const url = `http://127.0.0.1:${server.port}`;
  const member = async (role: 'admin' | 'auditor' | 'user') => {
    const { id } = await legate.users.create({ email: `${role}@example.com`, password: 'correct horse battery', role });
    return { id, token: (await legate.apiTokens.create(id, { name: 'test' })).token };
  };
  const [admin, auditor, person] = [await member('admin'), await member('auditor'), await member('user')];
  const permissions = [{ resource: 'mcp:*', actions: ['read'] }];
  const agent = await legate.agents.create({ ownerId: person.id, name: 'x', type: 'autonomous', permissions });
  const decide = async (): Promise<string> => {
    const response = await fetch(`${url}/authorize`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${agent.token}`,
        'content-type': 'application/json',
        'user-agent': 'undici',
      },
      body: JSON.stringify({
        action: 'read',
        resource: 'mcp:github:list_issues',
        arguments: { repository: 'octocat/hello-world' },
      }),
    });
    return ((await response.json()) as Json).auditId;
  };
  const bin = join(cwd, 'bin');
  mkdirSync(bin);
  const npx = `#!/bin/sh\nshift\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`;
  writeFileSync(join(bin, 'npx'), npx);
  chmodSync(join(bin, 'npx'), 0o755);
  copyFileSync(join(root, 'dist/verify.js'), join(cwd, 'verify.js'));
  const env: Record<string, string> = {
    URL: url,
    ADMIN: admin.token,
    TOKEN: auditor.token,
    KEY: (await legate.ledger.keys()).keys[0] as string,
    PERSON: person.id,
    AGENT: agent.id,
    LEGATE_DATA_DIR: dataDir,
    NODE_OPTIONS: OFFLINE,
    PATH: `${bin}:${process.env['PATH']}`,
  };
  /** Runs a block of a guide unchanged. */
  const sh = async (text: string): Promise<string> => {
    const { code, stdout, stderr } = await run(['bash', '--norc', '-ec', text], { cwd, env });
    expect([code, stderr], text).toEqual([text.includes('changed') ? 1 : 0, '']);
    return stdout;
  };
  const stop = async () => {
    await server.stop(1000);
    await legate.close();
  };
  return { legate, env, sh, stop, decide, admin, person, agent };
}

it('docs/guides/audit-for-auditors.md: the ledger is checked offline with one file and a key', async () => {
  const { legate, env, sh, stop, decide } = await createScene();
  for (let i = 0; i < 8; i++) await decide();
  // The guide shows how the auditor's token begins.
  const shown = blocksOf('audit-for-auditors.md').flatMap(({ text }) => / TOKEN=(\w+)\.\.\./.exec(text)?.[1] ?? []);
  expect(shown).toEqual([env['TOKEN']?.slice(0, 4)]);
  const before: Record<string, () => Promise<unknown>> = {
    '/proof >': async () => {
      env['ENTRY'] = await decide();
    },
    'types=audit.erased': () => legate.ledger.erase({ auditIds: [env['ENTRY'] as string] }),
  };
  let printed = '';
  let compared = 0;
  for (const { language, text } of blocksOf('audit-for-auditors.md')) {
    if (language === 'sh') {
      for (const [part, act] of Object.entries(before)) if (text.includes(part)) await act();
      printed = await sh(text);
      if (text.includes('?types=audit.erased')) printed = printed.slice(printed.lastIndexOf('rows.ndjson:'));
    } else {
      expect(normalized(printed)).toBe(normalized(text));
      compared++;
    }
  }
  expect(compared).toBe(8);
  await stop();
});

it('docs/guides/erasure.md: entries and a person are erased, and the erasure is proven', async () => {
  const { env, sh, stop, decide, person, legate } = await createScene();
  for (let i = 0; i < 3; i++) await decide();
  env['BEFORE'] = new Date(Date.now() + 1).toISOString();
  const blocks = blocksOf('erasure.md');
  const run = async (language: string, part: string): Promise<string> => {
    const { text } = blocks.find((block) => block.language === language && block.text.includes(part)) as Block;
    return language === 'sh' ? sh(text) : text;
  };
  const shape = (json: string) => Object.entries(JSON.parse(json)).map(([name, value]) => [name, typeof value]);

  const preview = JSON.parse(await run('sh', 'preview=true'));
  expect(preview.loses).toMatchObject([{ agentId: env['AGENT'] }]);
  const some = JSON.parse(await run('sh', '/audit/erasures'));
  expect(some).toMatchObject({ erased: 3, recordedAs: [expect.any(Number)] });
  env['RECORDED'] = some.recordedAs[0];
  expect(normalized(await run('sh', 'erasure.tlog-proof'))).toBe(normalized(await run('text', 'erasure.tlog-proof')));
  expect(shape(await run('sh', 'request+4711'))).toEqual(shape(await run('json', 'recordedAs')));
  await expect(legate.users.get(person.id)).rejects.toThrow();
  expect(normalized(await run('sh', 'ledger check'))).toBe(normalized(await run('text', 'as they were sealed')));
  expect(blocks).toHaveLength(8);
  await stop();
});
