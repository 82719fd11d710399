import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createTestService } from '../../../test/support/service.ts';
import { SYSTEM } from '../../access/actor.ts';
import { DAY_MS } from '../../kernel/clock.ts';
import { runVerify } from '../../verify/index.ts';

it('a sealed export shows that the time of the ledger was set back, and filters leave that undecided', async () => {
  const t = await createTestService({ config: { ledger: { seal: 'on' } } });
  const agent = await t.agent(await t.user(), { permissions: [{ resource: 'db:*', actions: ['read'] }] });
  const decide = async () =>
    expect((await t.authorize(agent, { action: 'read', resource: 'db:x' })).body.allowed).toBe(true);
  t.clock.advance(DAY_MS);
  await decide();
  t.clock.advance(-DAY_MS);
  await t.legate.platform.ledger.resetClock(SYSTEM);
  await decide();

  const dir = mkdtempSync(join(tmpdir(), 'legate-export-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const { keys: key } = await t.legate.ledger.keys();
  const verified = async (options: Parameters<typeof t.legate.ledger.export>[0]): Promise<[number, string]> => {
    writeFileSync(join(dir, 'export'), await (await t.legate.ledger.export(options)).text());
    let printed = '';
    const code = runVerify({ files: [join(dir, 'export')], key }, (text) => {
      printed += text;
    });
    return [code, printed];
  };
  const reset = /Row 4 set the time of the ledger back from 2030-01-16T10:10:00\.000Z to 2030-01-15T10:10:00\.000Z\./;
  expect(await verified({ fromSeq: 1 })).toEqual([0, expect.stringMatching(reset)]);
  const undecided = 'The times of rows 5 are before that of a row before them';
  expect(await verified({ agentId: agent.id })).toEqual([2, expect.stringContaining(undecided)]);
});
