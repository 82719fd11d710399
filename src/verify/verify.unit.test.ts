import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { consistency, keyOf, path, root } from '../../test/support/plain-log.ts';
import { sha256 } from './canonical.ts';
import {
  openCheckpoint,
  parseKey,
  parsePolicy,
  policyOfKeys,
  Refuted,
  runVerify,
  runVerifyOnline,
  Undecidable,
  verifyConsistency,
  verifyProof,
} from './index.ts';
import { leafHash } from './tree.ts';

const ORIGIN = 'log.example/ledger/1';
const log = keyOf(ORIGIN, 1);
const policy = policyOfKeys([parseKey(log.vkey)]);

const hidden = (i: number): string => `legate-private-v1\0${'ab'.repeat(16)}\0{"n":${i}}\x00192.0.2.1\0`;
const leaf = (i: number): string =>
  `legate-entry-v1\0audit\0${i + 1}\0${1000 + i}\0${sha256(hidden(i)).toString('base64')}` +
  `\0aud_${i}\0agt_1\0usr_1\0read\0db:x\0allowed\0\0${'0.5'}\0\0`;

const leavesOf = (size: number): Buffer[] => Array.from({ length: size }, (_, i) => leafHash(leaf(i)));
const textOf = (leaves: readonly Buffer[], size = leaves.length): string =>
  `${ORIGIN}\n${size}\n${(size === 0 ? sha256('') : root(leaves)).toString('base64')}\n`;
const noteOf = (size: number): string => {
  const text = textOf(leavesOf(size));
  return `${text}\n${log.signs(text)}`;
};
const extraOf = (i: number, more: object = {}): string =>
  Buffer.from(JSON.stringify({ leaf: leaf(i), private: hidden(i), ...more })).toString('base64');
const lines = (hashes: readonly Buffer[]): string => hashes.map((hash) => `${hash.toString('base64')}\n`).join('');
const proofOf = (i: number, size: number): string =>
  `c2sp.org/tlog-proof@v1\nextra ${extraOf(i)}\nindex ${i}\n${lines(path(i, leavesOf(size)))}\n${noteOf(size)}`;
const answerOf = (from: number, to: number, proof = consistency(from, leavesOf(to))): string =>
  JSON.stringify({ from, to, proof: proof.map((hash) => hash.toString('base64')), checkpoint: noteOf(to) });

describe('a proof', () => {
  it('is accepted for every entry of trees of up to 20 rows [RFC 9162, section 2.1.3.2]', () => {
    for (let size = 1; size <= 20; size++)
      for (let i = 0; i < size; i++)
        expect(verifyProof(proofOf(i, size), policy).entry).toMatchObject({ seq: i + 1, private: { ip: '192.0.2.1' } });
  });

  const good = proofOf(4, 11);
  const [first = '', second = ''] = path(4, leavesOf(11)).map((hash) => hash.toString('base64'));
  const forged: Record<string, string> = {
    'another private text': good.replace(extraOf(4), extraOf(4, { private: hidden(5) })),
    'another leaf': good.replace(extraOf(4), extraOf(5)),
    'another index': good.replace('index 4', 'index 5'),
    'an index with a leading zero': good.replace('index 4', 'index 04'),
    'an index beyond the tree': good.replace('index 4', 'index 11'),
    'a changed hash': good.replace(first, sha256('x').toString('base64')),
    'an additional hash': good.replace(first, `${first}\n${first}`),
    'a missing hash': good.replace(`${first}\n`, ''),
    'swapped hashes': good.replace(`${first}\n${second}`, `${second}\n${first}`),
    'base64 that is not canonical': good.replace(first, `${first.slice(0, -2)}${first.at(-2) === 'A' ? 'B' : '/'}=`),
    'an additional member': good.replace(extraOf(4), extraOf(4, { seq: 4 })),
    'a repeated member': good.replace(
      extraOf(4),
      Buffer.from(`{"leaf":"x","leaf":${JSON.stringify(leaf(4))}}`).toString('base64'),
    ),
    'another size': good.replace(`\n11\n`, '\n12\n'),
    'no newline at the end': good.slice(0, -1),
    'a control character': good.replace(`— ${ORIGIN}`, `— ${ORIGIN}\u001b`),
  };
  it.each(Object.keys(forged))('with %s is refuted', (name) => {
    expect(forged[name]).not.toBe(good);
    expect(() => verifyProof(forged[name] as string, policy)).toThrow(Refuted);
  });

  it('shows only the text that was hashed, and only if its type has fields', () => {
    const single = (sealed: string, shown: string): string => {
      const text = textOf([leafHash(sealed)]);
      const extra = Buffer.from(JSON.stringify({ leaf: shown })).toString('base64');
      return `c2sp.org/tlog-proof@v1\nextra ${extra}\nindex 0\n\n${text}\n${log.signs(text)}`;
    };
    const sealed = leaf(0).replace('db:x', 'db:\ufffd');
    expect(verifyProof(single(sealed, sealed), policy).entry.fields).toMatchObject({ resource: 'db:\ufffd' });
    const unpaired = sealed.replace('\ufffd', '\ud800');
    expect(leafHash(unpaired)).toEqual(leafHash(sealed));
    expect(() => verifyProof(single(sealed, unpaired), policy)).toThrow(Refuted);
    const odd = leaf(0).replace(/\0audit\0(.*?)\0aud_.*$/s, '\0constructor\0$1\0x');
    expect(() => verifyProof(single(odd, odd), policy)).toThrow('0');
  });

  it('cannot be decided under another key, or for another log with the same key', () => {
    expect(() => verifyProof(good, policyOfKeys([parseKey(keyOf(ORIGIN, 2).vkey)]))).toThrow(Undecidable);
    expect(() => verifyProof(good, policyOfKeys([parseKey(keyOf('log.example/other', 1).vkey)]))).toThrow(Undecidable);
  });
});

describe('a checkpoint', () => {
  it('is split at its last empty line, so that a signature covers everything that is shown', () => {
    const text = textOf(leavesOf(3));
    expect(() => openCheckpoint(`${text}\n${log.signs(text)}\n${log.signs(text)}`, policy)).toThrow(Refuted);
  });

  it('may have extension lines, which are signed and not empty [C2SP tlog-checkpoint]', () => {
    const signed = (text: string): string => `${text}\n${log.signs(text)}`;
    const note = signed(`${textOf(leavesOf(3))}anything 1\nanything 2\n`);
    expect(openCheckpoint(note, policy)).toMatchObject({ origin: ORIGIN, size: 3, root: root(leavesOf(3)) });
    expect(() => openCheckpoint(note.replace('anything 2', 'anything 3'), policy)).toThrow(Refuted);
    for (const text of [`${textOf(leavesOf(3))}\n`, `${textOf(leavesOf(3))}\nanything\n`])
      expect(() => openCheckpoint(signed(text), policy)).toThrow('has an empty line');
  });

  it('is refuted if the signature of a known key is wrong', () => {
    expect(() => openCheckpoint(noteOf(3).replace(`${ORIGIN}\n3`, `${ORIGIN}\n4`), policy)).toThrow(Refuted);
  });

  it.each(['a\u2003b', 'a\u00a0b', 'a+b', ''])('is refuted with a signature of a key named %j', (name) => {
    expect(() => openCheckpoint(noteOf(3) + keyOf(name, 3).signs('x'), policy)).toThrow(Refuted);
  });

  it('may have signatures of unknown keys', () => {
    expect(openCheckpoint(noteOf(3) + keyOf('other.example', 3).signs('x'), policy).size).toBe(3);
  });

  it('requires the witnesses that the policy names [C2SP tlog-policy]', () => {
    const [a, b, c] = ['a', 'b', 'c'].map((name, i) => keyOf(`${name}.example`, 10 + i, 4));
    const file = [
      '# a comment',
      `log ${log.vkey}`,
      `witness a ${a?.vkey}`,
      `witness b\t${b?.vkey} https://b.example`,
      `witness c ${c?.vkey}`,
      'group two 2 a b c',
      'quorum two',
      '',
    ].join('\n');
    const text = textOf(leavesOf(3));
    const quorum = parsePolicy(file);
    const note = noteOf(3) + a?.cosigns(text, 1_900_000_000);
    expect(() => openCheckpoint(note, quorum)).toThrow(Undecidable);
    expect(openCheckpoint(note + c?.cosigns(text, 1_900_000_001), quorum).cosigned).toEqual([
      { name: 'a', time: 1_900_000_000 },
      { name: 'c', time: 1_900_000_001 },
    ]);
    expect(() => openCheckpoint(note + c?.cosigns('another text\n', 1), quorum)).toThrow(Refuted);
    for (const wrong of [
      file.replace('quorum two\n', ''),
      file.replace('group two 2', 'group two 4'),
      file.replace('a b c', 'a b b'),
      file.replace('quorum two', 'quorum three'),
      file.replace(`witness c ${c?.vkey}`, `witness c ${a?.vkey}`),
      file.replace('# a comment', 'comment'),
      file.replace('# a comment', '# a comment\r'),
      file.replace('https://b.example', 'https://b.example\u001b'),
    ])
      expect(() => parsePolicy(wrong)).toThrow(Undecidable);
  });

  it.each(['', 'x', `${log.vkey}x`, log.vkey.replace('+', '+0')])('key %s is refused', (vkey) => {
    expect(() => parseKey(vkey)).toThrow(Undecidable);
  });
});

describe('consistency', () => {
  it('is accepted for all sizes up to 16 [RFC 9162, section 2.1.4.2]', () => {
    for (let to = 1; to <= 16; to++)
      for (let from = 1; from <= to; from++) verifyConsistency(noteOf(from), answerOf(from, to), policy);
    const text = textOf([], 0);
    verifyConsistency(`${text}\n${log.signs(text)}`, answerOf(0, 3, []), policy);
  });

  it('is refuted for a rewritten log, also of equal size', () => {
    const other = leavesOf(5).reverse();
    const text = textOf(other);
    const fork = `${text}\n${log.signs(text)}`;
    expect(() => verifyConsistency(fork, answerOf(5, 9), policy)).toThrow(Refuted);
    expect(() => verifyConsistency(fork, noteOf(5), policy)).toThrow('forked');
  });

  it.each([0, 3])('is refuted between two logs of one policy, with %i rows each', (size) => {
    const name = 'other.example/ledger/2';
    const both = policyOfKeys([log.vkey, keyOf(name, 2).vkey].map(parseKey));
    const text = textOf(leavesOf(size), size);
    const other = text.replace(ORIGIN, name);
    const [old, recent] = [`${text}\n${log.signs(text)}`, `${other}\n${keyOf(name, 2).signs(other)}`];
    expect(() => verifyConsistency(old, recent, both)).toThrow('different logs');
  });

  it('is refuted by a response in another format than that of the server', () => {
    const good = answerOf(3, 9);
    for (const answer of [
      good.replace('{"from":3,', '{"from":4,"from":3,'),
      good.replace('{"from":3,', '{"from":3,"more":1,'),
      good.replace('{"from":3,', '{"from":3.0,'),
      good.replace('"to":9', '"to": 9'),
      `${good}\n`,
      good.slice(0, -1),
    ])
      expect(() => verifyConsistency(noteOf(3), answer, policy)).toThrow(Refuted);
  });

  it('is refuted with hashes that are not texts', () => {
    const answer = JSON.parse(answerOf(3, 9));
    for (const proof of [answer.proof.map((hash: string) => [hash]), { ...answer.proof }, undefined])
      expect(() => verifyConsistency(noteOf(3), JSON.stringify({ ...answer, proof }), policy)).toThrow(Refuted);
  });

  it.each([3, 4, 6])('is refuted with a hash too many, too few or changed, from %i rows', (from) => {
    const proof = consistency(from, leavesOf(9));
    for (const wrong of [[...proof, sha256('')], proof.slice(1), [sha256(''), ...proof.slice(1)]])
      expect(() => verifyConsistency(noteOf(from), answerOf(from, 9, wrong), policy)).toThrow(Refuted);
  });
});

describe('the command', () => {
  it('reports what is proven and what is not, and exits with 0, 1 or 2', () => {
    const dir = mkdtempSync(join(tmpdir(), 'legate-verify-'));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    const write = (name: string, text: string): string => {
      writeFileSync(join(dir, name), text);
      return join(dir, name);
    };
    const good = write('good', proofOf(4, 11));
    const bad = write('bad', proofOf(4, 11).replace('index 4', 'index 3'));
    let printed = '';
    const run = (options: Parameters<typeof runVerify>[0]): number => {
      printed = '';
      return runVerify(options, (text) => {
        printed += text;
      });
    };
    const key = [log.vkey];
    expect(run({ files: [good], key })).toBe(0);
    expect(printed).toContain(`This is row 5 of ${ORIGIN}, unchanged`);
    expect(printed).toContain('action: "read"');
    expect(printed).toContain('Not proven: that others were shown the same ledger.');
    expect(run({ files: [good, bad], key, json: true })).toBe(1);
    expect(JSON.parse(printed).map((each: { verdict: string }) => each.verdict)).toEqual(['proven', 'refuted']);
    expect(run({ files: [good], key: [keyOf(ORIGIN, 9).vkey] })).toBe(2);
    expect(run({ files: [good] })).toBe(2);
    expect(run({ files: [join(dir, 'missing')], key })).toBe(2);
    const old = write('old', noteOf(3));
    expect(run({ files: [old, write('answer', answerOf(3, 9))], key, consistent: true })).toBe(0);
    expect(readFileSync(good, 'utf8')).toBe(proofOf(4, 11));
  });

  it('asks the service at --url whether its current ledger continues the files', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'legate-verify-'));
    const file = join(dir, 'old');
    writeFileSync(file, noteOf(3));
    let answer = { status: 200, text: answerOf(3, 9) };
    const asked: (string | undefined)[] = [];
    const server = createServer((req, res) => {
      asked.push(req.url);
      res.writeHead(answer.status).end(answer.text);
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    onTestFinished(() => {
      server.close();
      rmSync(dir, { recursive: true });
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    let printed = '';
    const run = (to = url): Promise<number> => {
      printed = '';
      return runVerifyOnline({ files: [file], key: [log.vkey], url: to }, (text) => {
        printed += text;
      });
    };
    expect(await run()).toBe(0);
    expect(printed).toContain('The ledger of today, of 9 rows, continues it.');
    expect(asked).toEqual(['/ledger/consistency?from=3']);
    for (const [status, text, code, said] of [
      [200, answerOf(3, 9, consistency(3, leavesOf(9)).reverse()), 1, 'does not continue'],
      [200, answerOf(2, 9), 2, 'is not the proof from 3'],
      [200, 'nonsense\n\nnonsense', 1, 'not a signed note'],
      [200, '{', 1, 'not canonical JSON'],
      [404, '{}', 2, 'answered 404'],
    ] as const) {
      answer = { status, text };
      expect([await run(), text, printed]).toEqual([code, text, expect.stringContaining(said)]);
    }
    expect(await run('http://127.0.0.1:1')).toBe(2);
    expect(printed).toContain('cannot be asked');
  });
});
