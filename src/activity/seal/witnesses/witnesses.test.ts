import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  createTestService,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../../test/support/service.ts';
import { untilPasses } from '../../../../test/support/until.ts';
import { DAY_MS } from '../../../kernel/clock.ts';
import { openCheckpoint, parsePolicy, runVerify, verifyProof } from '../../../verify/index.ts';
import { openWitness, serveWitness, type Witness } from '../../../witness/index.ts';
import { noteSigner, signCheckpoint } from '../note.ts';
import { pruneLedger } from '../prune.ts';
import { sealer } from '../sealer.ts';
import { cosigner } from './index.ts';

const ORIGIN = 'legate.example/ledger/tests';
const SEED = createHash('sha256').update('ledger key of the tests').digest();

interface Running {
  readonly witness: Witness;
  readonly address: string;
  /** The requests that the witness received. */
  readonly requests: string[];
  /** While set, it answers in place of the witness. */
  answer: ((request: string) => { status: number; type?: string; body: string }) | undefined;
  stop(): Promise<void>;
}

const scratchFolder = (): string => mkdtempSync(join(tmpdir(), 'legate-witnesses-'));

/** Starts a witness on a port. It accepts the log as soon as the log has a key. */
async function startWitness(name: string, keys: () => readonly string[], now: () => number): Promise<Running> {
  const folder = scratchFolder();
  let witness: Witness | undefined;
  const opened = () => (witness ??= openWitness({ name, logs: keys(), folder, now }));
  const running: Running = {
    get witness() {
      return opened();
    },
    address: '',
    requests: [],
    answer: undefined,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
      witness?.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  const spied: Witness = {
    get vkey() {
      return opened().vkey;
    },
    addCheckpoint: (request) => {
      running.requests.push(request);
      const { status, type = 'text/plain', body } = running.answer?.(request) ?? opened().addCheckpoint(request);
      return { status: status as 200, type, body };
    },
    latest: (hash) => opened().latest(hash),
    forks: () => opened().forks(),
    close: () => {},
  };
  const server = serveWitness(spied).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return Object.assign(running, { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

const policyText = (witnesses: readonly Running[], keysOf: readonly string[], quorum: string): string =>
  [...witnesses.map(({ address }, i) => `witness w${i + 1} ${keysOf[i]} ${address}/`), quorum, ''].join('\n');

interface Scene {
  readonly t: TestService;
  readonly admin: TestUser;
  readonly agent: TestAgent;
  readonly witnesses: readonly Running[];
  /** The policy with the key of the log, as a verifier configures it. */
  readonly policy: string;
}

/** A sealed service with witnesses. */
async function createScene({
  count = 2,
  quorum = 'group all2 all w1 w2\nquorum all2',
  witnessIntervalMs = 10_000,
  retentionDays = 0,
} = {}): Promise<Scene> {
  const { vkey } = noteSigner(ORIGIN, SEED);
  let clock = () => Date.now();
  const witnesses: Running[] = [];
  for (let i = 0; i < count; i++)
    witnesses.push(
      await startWitness(
        `w${i + 1}.example`,
        () => [vkey],
        () => clock(),
      ),
    );
  const text = policyText(
    witnesses,
    witnesses.map(({ witness }) => witness.vkey),
    quorum,
  );
  const folder = scratchFolder();
  const file = join(folder, 'policy');
  writeFileSync(file, text);
  const t = await createTestService({
    lasting: true,
    config: {
      ledger: { seal: 'on', origin: ORIGIN, key: SEED.toString('base64url'), policy: file, witnessIntervalMs },
      audit: { retentionDays },
    },
  });
  rmSync(folder, { recursive: true });
  clock = () => t.clock.now();
  const owner = await t.user();
  const agent = await t.agent(owner, { permissions: [{ resource: 'db:*', actions: ['read'] }] });
  return { t, admin: await t.admin(), agent, witnesses, policy: `log ${vkey}\n${text}` };
}

const decide = async ({ t, agent }: Scene): Promise<string> =>
  (await t.authorize(agent, { action: 'read', resource: 'db:x' })).body.auditId;
const proofOf = ({ t, admin }: Scene, id: string) => t.call('GET', `/audit/${id}/proof`, { as: admin });
const statusOf = async ({ t, admin }: Scene) => (await t.call('GET', '/ledger/status', { as: admin })).body;
const sizeOf = (note: string): number => Number(note.split('\n')[1]);

let scene: Scene;
beforeAll(async () => {
  scene = await createScene();
  return () => Promise.all(scene.witnesses.map((each) => each.stop()));
});

describe('a ledger with witnesses', () => {
  it('proves a fresh entry under a checkpoint that all of them have cosigned', async () => {
    const id = await decide(scene);
    const { status, text } = await proofOf(scene, id);
    expect(status, text).toBe(200);
    const { entry, checkpoint } = verifyProof(text, parsePolicy(scene.policy));
    expect(entry.fields).toMatchObject({ id });
    const time = Math.floor(scene.t.clock.now() / 1000);
    expect(checkpoint.cosigned).toEqual([
      { name: 'w1', time },
      { name: 'w2', time },
    ]);
    expect(text.length).toBeLessThan(3072);
    const shown = await scene.t.call('GET', '/ledger/checkpoint');
    expect(openCheckpoint(shown.text, parsePolicy(scene.policy)).size).toBe(checkpoint.size);
  });

  it('proves the times between which the entry was sealed', async () => {
    const before = Math.floor(scene.t.clock.now() / 1000);
    scene.t.clock.advance(120_000);
    // The service keeps the checkpoint of the next minute.
    await proofOf(scene, await decide(scene));
    scene.t.clock.advance(30_000);
    const { text } = await proofOf(scene, await decide(scene));
    const { before: earlier, checkpoint, entry } = verifyProof(text, parsePolicy(scene.policy));
    expect(earlier?.cosigned[0]?.time).toBe(before + 120);
    expect(checkpoint.cosigned[0]?.time).toBe(before + 150);
    expect(earlier?.size).toBeLessThan(entry.seq);
    const folder = scratchFolder();
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'policy'), scene.policy);
    writeFileSync(join(folder, 'proof'), text);
    let said = '';
    const code = runVerify({ files: [join(folder, 'proof')], policy: join(folder, 'policy') }, (line) => {
      said += line;
    });
    expect([code, said]).toEqual([
      0,
      expect.stringMatching(/not yet in a tree of \d+ rows that the witness w1 saw at/),
    ]);
    const swapped = text.replace(/^extra (.*)$/m, (_, extra: string) => {
      const texts = JSON.parse(Buffer.from(extra, 'base64').toString());
      texts.before.proof = texts.before.proof.slice(1);
      return `extra ${Buffer.from(JSON.stringify(texts)).toString('base64')}`;
    });
    expect(() => verifyProof(swapped, parsePolicy(scene.policy))).toThrow();
  });

  it('asks each witness once per interval, with the proof from its last checkpoint', async () => {
    const [one] = scene.witnesses as [Running];
    const due = () => scene.t.legate.platform.stateOf(cosigner).askIfDue();
    scene.t.clock.advance(10_000);
    await decide(scene);
    await scene.t.legate.platform.stateOf(sealer).signNow();
    const asked = one.requests.length;
    await Promise.all([due(), due()]);
    await due();
    expect(one.requests.length).toBe(asked + 1);
    expect(one.requests.at(-1)).toMatch(
      new RegExp(`^old ${sizeOf((one.requests.at(-2) ?? '').split('\n\n')[1] ?? '')}\n`),
    );
    const { witnesses, cosignedSize, signedSize } = await statusOf(scene);
    expect(cosignedSize).toBe(signedSize);
    expect(witnesses).toMatchObject([
      { name: 'w1', size: signedSize, failure: null },
      { name: 'w2', size: signedSize, failure: null },
    ]);
    // Without new rows it asks once an hour, so that the time of the cosignature stays recent.
    scene.t.clock.advance(60_000);
    await due();
    expect(one.requests.length).toBe(asked + 1);
    scene.t.clock.advance(3_600_000);
    await due();
    expect(one.requests.length).toBe(asked + 2);
    expect(one.requests.at(-1)).toMatch(new RegExp(`^old ${signedSize}\n\n`));
  });

  it('asks them at an interval that is shorter than that of upkeep', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const own = await createScene({ count: 1, quorum: 'quorum w1', witnessIntervalMs: 1000 });
    const [one] = own.witnesses as [Running];
    onTestFinished(() => one.stop());
    await decide(own);
    await own.t.legate.platform.stateOf(sealer).signNow();
    expect(one.requests).toEqual([]);
    vi.advanceTimersByTime(1000);
    // With fake timers, waitFor would advance the time.
    vi.useRealTimers();
    await untilPasses(() => expect(one.requests).toHaveLength(1));
  });

  it('has no proof of a new entry without the quorum, and still shows the last cosigned checkpoint', async () => {
    const [, two] = scene.witnesses as [Running, Running];
    for (const [answer, failure] of [
      [{ status: 500, body: 'no\u001b[2Jdisk' }, 'It answered 500: no [2Jdisk'],
      [{ status: 200, body: '' }, 'Its answer has no signature of its key.'],
      [
        { status: 200, body: `— w2.example ${Buffer.alloc(76, 1).toString('base64')}\n` },
        'Its answer has no signature of its key.',
      ],
      [
        { status: 409, type: 'text/x.tlog.size', body: '0\n' },
        /^It answered|It answers with a different size each time/,
      ],
    ] as const) {
      const older = (await scene.t.call('GET', '/ledger/checkpoint')).text;
      two.answer = () => answer as { status: number; body: string };
      const id = await decide(scene);
      const r = await proofOf(scene, id);
      expect([r.status, r.body.error?.code, r.headers.get('retry-after')]).toEqual([409, 'NOT_YET_SEALED', '1']);
      expect((await scene.t.call('GET', '/ledger/checkpoint')).text).toBe(older);
      const { witnesses } = await statusOf(scene);
      expect(witnesses[1].failure).toEqual(typeof failure === 'string' ? failure : expect.stringMatching(failure));
      two.answer = undefined;
      expect((await proofOf(scene, id)).status).toBe(200);
    }
  });

  it('refuses a cosignature of another text', async () => {
    const [, two] = scene.witnesses as [Running, Running];
    const line = (await scene.t.call('GET', '/ledger/checkpoint')).text
      .split('\n')
      .find((each) => each.startsWith('— w2.example')) as string;
    two.answer = () => ({ status: 200, body: `${line}\n` });
    const id = await decide(scene);
    expect((await proofOf(scene, id)).status).toBe(409);
    expect((await statusOf(scene)).witnesses[1].failure).toBe('The cosignature of w2 is wrong.');
    two.answer = undefined;
    expect((await proofOf(scene, id)).status).toBe(200);
  });

  it('does not let decisions wait for a witness that does not answer', async () => {
    const [one] = scene.witnesses as [Running];
    await one.stop();
    const id = await decide(scene);
    expect((await proofOf(scene, id)).status).toBe(409);
    expect((await statusOf(scene)).witnesses[0].failure).toMatch(/^It cannot be reached/);
  });
});

describe('a witness that has cosigned more rows than the database has', () => {
  it('stops the sealing on every instance, while decisions continue', async () => {
    const halted = await createScene({ count: 1, quorum: 'quorum w1' });
    onTestFinished(async () => {
      await Promise.all(halted.witnesses.map((each) => each.stop()));
    });
    const { t, witnesses } = halted;
    // The key has signed a larger tree, whose rows this database does not have.
    const root = createHash('sha256').update('rows that were lost').digest();
    const note = signCheckpoint({ origin: ORIGIN, size: 1_000_000, root }, t.legate.platform.stateOf(sealer).signers);
    expect(witnesses[0]?.witness.addCheckpoint(`old 0\n\n${note}`).status).toBe(200);
    const id = await decide(halted);
    expect((await proofOf(halted, id)).status).toBe(409);
    const { sealing, halted: reason } = await statusOf(halted);
    expect([sealing, reason]).toEqual([
      false,
      expect.stringContaining('The witness w1 has cosigned a tree of 1000000'),
    ]);
    const row = await t.legate.platform.database.read.selectFrom('seal').select('halted').executeTakeFirst();
    expect(row?.halted).toBe(reason);
    expect((await t.authorize(halted.agent, { action: 'read', resource: 'db:x' })).body.allowed).toBe(true);
  });

  it('stops the sealing at a start, before the database has as many rows again', async () => {
    const { t, agent, witnesses, policy } = await createScene({ count: 1, quorum: 'quorum w1' });
    const folder = scratchFolder();
    onTestFinished(async () => {
      await witnesses[0]?.stop();
      rmSync(folder, { recursive: true });
    });
    await t.authorize(agent, { action: 'read', resource: 'db:x' });
    await t.legate.platform.stateOf(sealer).signNow();
    const root = createHash('sha256').update('rows that were lost').digest();
    const note = signCheckpoint({ origin: ORIGIN, size: 1000, root }, t.legate.platform.stateOf(sealer).signers);
    expect(witnesses[0]?.witness.addCheckpoint(`old 0\n\n${note}`).status).toBe(200);
    const file = join(folder, 'policy');
    writeFileSync(file, policy);
    const ledger = { seal: 'on' as const, origin: ORIGIN, key: SEED.toString('base64url'), policy: file };
    const started = await createTestService({ sameDatabaseAs: t, withoutIntervals: true, config: { ledger } });
    await started.legate.platform.background.idle();
    expect(started.legate.platform.stateOf(sealer).halted).toContain('has cosigned a tree of 1000 rows');
  });

  it('refuses another tree of the same log, and the status shows the refusal', async () => {
    const forked = await createScene({ count: 1, quorum: 'quorum w1' });
    onTestFinished(async () => {
      await Promise.all(forked.witnesses.map((each) => each.stop()));
    });
    const { t, witnesses } = forked;
    const root = createHash('sha256').update('another history').digest();
    const note = signCheckpoint({ origin: ORIGIN, size: 2, root }, t.legate.platform.stateOf(sealer).signers);
    witnesses[0]?.witness.addCheckpoint(`old 0\n\n${note}`);
    expect((await proofOf(forked, await decide(forked))).status).toBe(409);
    const { witnesses: shown, halted } = await statusOf(forked);
    expect([shown[0].failure, halted]).toEqual([
      expect.stringMatching(/^It answered 422: The newer tree does not/),
      null,
    ]);
  });
});

describe('ledger.policy', () => {
  it('prevents the start if it cannot be parsed or satisfied', async () => {
    const folder = scratchFolder();
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const [, key] = /^witness w1 (\S+)/m.exec(scene.policy) ?? [];
    for (const [text, problem] of [
      [undefined, /ledger\.policy \(LEGATE_LEDGER_POLICY\): \S+ cannot be read \(ENOENT\)/],
      ['quorum', /The policy is not valid/],
      [`witness w1 ${key} ftp://w.example\nquorum w1\n`, /not an http or https address/],
      [`witness w1 ${key}\nquorum w1\n`, /too few witnesses/],
    ] as const) {
      const file = join(folder, 'policy');
      rmSync(file, { force: true });
      if (text !== undefined) writeFileSync(file, text);
      await expect(createTestService({ config: { ledger: { seal: 'on', policy: file } } })).rejects.toThrow(problem);
    }
  });
});

it('a witness whose newest checkpoint covers only deleted rows does not keep the others from cosigning', async () => {
  // The first tile is kept, because it has an event of the ledger itself.
  const own = await createScene({ quorum: 'group any1 any w1 w2\nquorum any1', retentionDays: 30 });
  const { t, agent, witnesses } = own;
  const [late] = witnesses as [Running, Running];
  const requests = Array.from({ length: 100 }, () => ({ action: 'read', resource: 'db:x' }));
  const decideMany = async (): Promise<void> => {
    for (let i = 0; i < 4; i++) await t.call('POST', '/authorize/batch', { as: agent, body: { requests } });
  };
  await decideMany();
  expect((await proofOf(own, await decide(own))).status).toBe(200);
  late.answer = () => ({ status: 503, body: 'down' });
  await decideMany();
  t.clock.advance(31 * DAY_MS);
  expect((await proofOf(own, await decide(own))).status).toBe(200);
  await pruneLedger(t.legate.platform);
  late.answer = undefined;
  expect((await proofOf(own, await decide(own))).status).toBe(200);
  await Promise.all(witnesses.map((each) => each.stop()));
  const [one, two] = (await statusOf(own)).witnesses;
  expect([one.failure, two.failure]).toEqual([expect.stringContaining('Retention has deleted all rows'), null]);
});
