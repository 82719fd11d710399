import { createPublicKey } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { listen } from '../../src/http/node.ts';
import { createLegate } from '../../src/service.ts';
import { root, run, scratchFolder } from '../support/cli.ts';
import { buildSumdbVerifier, hasGo } from '../support/sumdb.ts';

const ignore = (): void => {};
const log = { debug: ignore, info: ignore, warn: ignore, error: ignore };
const TILE = 256;
/** More rows than one tile has. */
const DECISIONS = 290;

interface Proof {
  readonly Index: number;
  /** Base64 is the format of the hashes in proofs. */
  readonly Leaf: string;
  readonly Proof: readonly string[];
  readonly Note: string;
}

function readProof(text: string): Proof {
  const end = text.indexOf('\n\n');
  const [, extra = '', index = '', ...hashes] = text.slice(0, end).split('\n');
  const { leaf } = JSON.parse(Buffer.from(extra.slice('extra '.length), 'base64').toString());
  return {
    Index: Number(index.slice('index '.length)),
    Leaf: Buffer.from(leaf).toString('base64'),
    Proof: hashes,
    Note: text.slice(end + 2),
  };
}

const sizeOf = (note: string): number => Number(note.split('\n')[1]);

/** A ledger with an earlier checkpoint, the newest one, and proofs of entries from all parts of it. */
async function createLedger() {
  const legate = await createLegate({ dataDir: join(scratchFolder(), '.legate') }, { env: {}, log });
  const server = await listen(legate, { port: 0, host: '127.0.0.1' });
  const url = `http://127.0.0.1:${server.port}`;
  const admin = await legate.users.create({
    email: 'admin@example.com',
    password: 'correct horse battery',
    role: 'admin',
  });
  const { token } = await legate.apiTokens.create(admin.id, { name: 'test' });
  const permissions = [{ resource: 'db:*', actions: ['read'] }];
  const agent = await legate.agents.create({ ownerId: admin.id, name: 'x', type: 'autonomous', permissions });
  const text = async (path: string): Promise<string> => {
    const response = await fetch(url + path, { headers: { authorization: `Bearer ${token}` } });
    expect([path, response.status]).toEqual([path, 200]);
    return response.text();
  };
  const decide = async (count: number): Promise<string[]> => {
    const decisions = Array.from({ length: count }, (_, i) =>
      legate.authorize({ agentId: agent.id, action: 'read', resource: `db:${i}` }),
    );
    return (await Promise.all(decisions)).map(({ auditId }) => auditId as string);
  };
  const first = await decide(40);
  await text(`/audit/${first.at(-1)}/proof`);
  const old = await text('/ledger/checkpoint');
  const ids = await decide(DECISIONS);
  const last = readProof(await text(`/audit/${ids.at(-1)}/proof`));
  const note = await text('/ledger/checkpoint');
  const consistency = JSON.parse(await text(`/ledger/consistency?from=${sizeOf(old)}&to=${sizeOf(note)}`));
  const proofs = [last];
  for (const id of [first[0], first[25], ids[0], ids[150], ids[222]])
    proofs.push(readProof(await text(`/audit/${id}/proof`)));
  const [key = ''] = (await legate.ledger.keys()).keys;
  const tiles = new Map<string, Buffer>();
  for (const address of ['0/000', `0/001.p/${sizeOf(note) % TILE}`, '1/000.p/1']) {
    const response = await fetch(`${url}/ledger/tile/${address}`);
    expect([address, response.status]).toEqual([address, 200]);
    tiles.set(address, Buffer.from(await response.arrayBuffer()));
  }
  await server.stop(1000);
  await legate.close();
  return { key, old, note, consistency, proofs, tiles };
}

let made: ReturnType<typeof createLedger> | undefined;
const ledger = () => (made ??= createLedger());

describe('independent verifiers accept the ledger', () => {
  it('openssl checks the signature of a checkpoint, as docs/sealed-ledger.md shows', async () => {
    const { key, note } = await ledger();
    const commands = /^```sh\n([\s\S]*?openssl[\s\S]*?)^```$/m.exec(
      readFileSync(join(root, 'docs/sealed-ledger.md'), 'utf8'),
    )?.[1] as string;
    const cwd = scratchFolder();
    const check = (checkpoint: string) => {
      writeFileSync(join(cwd, 'checkpoint.txt'), checkpoint);
      return run(['bash', '--norc', '-ec', commands], { cwd, env: { KEY: key } });
    };
    expect(await check(note)).toEqual({ code: 0, stdout: 'Signature Verified Successfully\n', stderr: '' });
    const larger = note.replace(`\n${sizeOf(note)}\n`, `\n${sizeOf(note) + 1}\n`);
    expect((await check(larger)).stdout).toBe('Signature Verification Failure\n');
  });

  it('@sigstore/verify checks a checkpoint and the inclusion of entries', async () => {
    const { key, proofs } = await ledger();
    const require = createRequire(import.meta.url);
    const { verifyCheckpoint } = require('@sigstore/verify/dist/tlog/checkpoint.js');
    const { verifyMerkleInclusion } = require('@sigstore/verify/dist/tlog/merkle.js');
    const [origin = '', id = '', encoded = ''] = key.split(/\+(.{8})\+/s);
    const der = Buffer.concat([
      Buffer.from('302a300506032b6570032100', 'hex'),
      Buffer.from(encoded, 'base64').subarray(1),
    ]);
    const logs = [
      {
        logID: Buffer.from(id, 'hex'),
        baseURL: origin,
        publicKey: createPublicKey({ key: der, format: 'der', type: 'spki' }),
      },
    ];
    const check = ({ Index, Leaf, Proof, Note }: Proof) => {
      const entry = {
        canonicalizedBody: Buffer.from(Leaf, 'base64'),
        inclusionProof: {
          logIndex: String(Index),
          hashes: Proof.map((hash) => Buffer.from(hash, 'base64')),
          checkpoint: { envelope: Note },
        },
      };
      verifyMerkleInclusion(entry, verifyCheckpoint(entry, logs));
    };
    for (const proof of proofs) {
      check(proof);
      expect(() => check({ ...proof, Leaf: `${proof.Leaf.slice(0, -4)}AAAA` })).toThrow(/root hash/);
      expect(() => check({ ...proof, Note: proof.Note.replace(/\n\d+\n/, '\n7\n') })).toThrow(/signature/);
    }
  });

  it.skipIf(!hasGo())('golang.org/x/mod/sumdb checks notes, inclusion, consistency and tiles', async () => {
    const { key, old, note, consistency, proofs, tiles } = await ledger();
    const program = buildSumdbVerifier(scratchFolder());
    const folder = scratchFolder();
    for (const [address, hashes] of tiles) {
      mkdirSync(dirname(join(folder, address)), { recursive: true });
      writeFileSync(join(folder, address), hashes);
    }
    const input = {
      Key: key,
      Old: old,
      New: note,
      Consistency: consistency.proof,
      Records: proofs,
      Tiles: folder,
      InTiles: proofs.map(({ Index, Leaf }) => ({ Index, Leaf })),
    };
    const check = (changed: object = {}) =>
      run([program], { cwd: scratchFolder(), input: JSON.stringify({ ...input, ...changed }) });
    expect(await check()).toEqual({
      code: 0,
      stdout: `6 records and 6 in tiles of ${sizeOf(note)} rows, ${sizeOf(old)} rows before\n`,
      stderr: '',
    });
    const [first] = proofs as [Proof];
    for (const [changed, said] of [
      [{ Old: note, New: old }, 'consistency'],
      [{ Consistency: consistency.proof.slice(1) }, 'consistency'],
      [{ New: note.replace(/\n\d+\n/, '\n7\n') }, 'note'],
      [{ Records: [{ ...first, Index: first.Index - 1 }] }, 'inclusion'],
      [{ InTiles: [{ ...first, Leaf: `${first.Leaf.slice(0, -4)}AAAA` }] }, 'tiles'],
    ] as const) {
      const { code, stderr } = await check(changed);
      expect([said, code, stderr.startsWith(`${said}: `)]).toEqual([said, 1, true]);
    }
    const forged = readFileSync(join(folder, '0/000'));
    forged[0] = (forged[0] ?? 0) ^ 1;
    writeFileSync(join(folder, '0/000'), forged);
    expect((await check()).stderr).toMatch(/^tiles: /);
  });
});
