import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createTestService, type TestService } from '../../../../test/support/service.ts';
import { openCheckpoint, parseKey, policyOfKeys } from '../../../verify/index.ts';
import { sealer } from '../sealer.ts';
import { publisher } from './index.ts';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'legate-publication-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

interface Got {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A server that stores the requests it receives. */
async function receiver(answer: (got: Got) => { status: number; body?: Buffer }) {
  const got: Got[] = [];
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const one = { headers: req.headers, body: Buffer.concat(chunks) };
      got.push(one);
      const { status, body } = answer(one);
      res.writeHead(status, { 'content-type': 'application/timestamp-reply' }).end(body);
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, got };
}

async function createScene(ledger: Record<string, unknown>) {
  const t = await createTestService({ config: { ledger: { seal: 'on', ...ledger } }, withoutIntervals: true });
  const agent = await t.agent(await t.user(), { permissions: [{ resource: 'db:*', actions: ['read'] }] });
  const decide = async (): Promise<void> => {
    await t.authorize(agent, { action: 'read', resource: 'db:x' });
    await t.legate.platform.stateOf(sealer).signNow();
  };
  return { t, decide, run: () => t.legate.platform.stateOf(publisher).run() };
}

const opened = async (t: TestService, note: string) =>
  openCheckpoint(note, policyOfKeys((await t.legate.ledger.keys()).keys.map(parseKey)));
const status = async (t: TestService) => (await t.call('GET', '/ledger/status', { as: await t.admin() })).body;

describe('ledger.publish', () => {
  it('writes the latest checkpoint to a folder, and keeps one per hour', async () => {
    const folder = scratchFolder();
    const { t, decide, run } = await createScene({ publish: `dir:${folder}` });
    await decide();
    await Promise.all([run(), run()]);
    const [id = ''] = readdirSync(folder);
    const read = (name: string): string => readFileSync(join(folder, id, name), 'utf8');
    const first = read('checkpoint');
    expect(first).toBe((await t.call('GET', '/ledger/checkpoint')).text);
    expect((await status(t)).publishedSize).toBe((await opened(t, first)).size);
    await decide();
    await run();
    // The interval is not over yet.
    expect(read('checkpoint')).toBe(first);
    t.clock.advance(60_000);
    await run();
    expect((await opened(t, read('checkpoint'))).size).toBeGreaterThan((await opened(t, first)).size);
    t.clock.advance(3_600_000);
    await decide();
    await run();
    const hours = readdirSync(join(folder, id)).filter((name) => name !== 'checkpoint');
    expect(hours).toEqual([expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\dZ\.txt$/), expect.any(String)]);
    expect(read(hours[0] as string)).toBe(first);
    expect(read(hours[1] as string)).toBe(read('checkpoint'));
  });

  it('sends it to an address, signed, and tries again after a failure', async () => {
    let answered = 500;
    const { url, got } = await receiver(() => ({ status: answered }));
    const { t, decide, run } = await createScene({ publish: url, publishSecret: SECRET });
    await decide();
    await expect(run()).rejects.toThrow('answered 500');
    expect((await status(t)).publishedSize).toBe(0);
    answered = 204;
    t.clock.advance(60_000);
    await Promise.all([run(), run()]);
    await run();
    expect(got).toHaveLength(2);
    const { headers, body } = got[1] as Got;
    const { type, timestamp, data } = JSON.parse(body.toString());
    expect([type, timestamp]).toEqual(['ledger.checkpoint', new Date(t.clock.now()).toISOString()]);
    expect(await opened(t, data.checkpoint)).toMatchObject({ origin: data.origin, size: data.size });
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    const signature = createHmac('sha256', Buffer.alloc(32, 7)).update(signed).digest('base64');
    expect(headers['webhook-signature']).toBe(`v1,${signature}`);
    expect((await status(t)).publishedSize).toBe(data.size);
    // Without a new event nothing is sent.
    t.clock.advance(60_000);
    await run();
    expect(got).toHaveLength(2);
  });

  it('is refused if it is neither a folder nor an address', async () => {
    for (const ledger of [{ publish: 'ftp://x' }, { publish: 'dir:' }, { publishSecret: 'x' }, { tsaUrl: 'x' }])
      await expect(createTestService({ config: { ledger: { seal: 'on', ...ledger } as never } })).rejects.toThrow();
  });
});

describe('ledger.tsaUrl', () => {
  /** A time stamping authority that runs openssl. */
  function authority() {
    const dir = scratchFolder();
    const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: dir, stdio: 'pipe' });
    const config =
      '[req]\ndistinguished_name=dn\nx509_extensions=ext\nprompt=no\n[dn]\nCN=Test authority\n' +
      '[ext]\nextendedKeyUsage=critical,timeStamping\nbasicConstraints=CA:true\n' +
      '[tsa]\ndefault_tsa=one\n[one]\nserial=serial\nsigner_cert=tsa.pem\nsigner_key=tsa.key\ncerts=tsa.pem\n' +
      'signer_digest=sha256\ndefault_policy=1.2.3.4\ndigests=sha256\naccuracy=secs:1\nordering=no\ntsa_name=yes\n';
    writeFileSync(join(dir, 'tsa.cnf'), config);
    writeFileSync(join(dir, 'serial'), '01\n');
    const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '30'];
    openssl('req', '-x509', ...made, '-keyout', 'tsa.key', '-out', 'tsa.pem', '-config', 'tsa.cnf');
    return {
      stamp: (query: Buffer): Buffer => {
        writeFileSync(join(dir, 'query'), query);
        openssl('ts', '-reply', '-config', 'tsa.cnf', '-section', 'one', '-queryfile', 'query', '-out', 'answer');
        return readFileSync(join(dir, 'answer'));
      },
      verify: (text: string, stamp: string): string => {
        writeFileSync(join(dir, 'note'), text);
        writeFileSync(join(dir, 'stamp'), Buffer.from(stamp, 'base64'));
        return openssl('ts', '-verify', '-data', 'note', '-in', 'stamp', '-CAfile', 'tsa.pem').toString();
      },
    };
  }

  it('has a checkpoint stamped every hour, and openssl accepts the stamp', async () => {
    const { stamp, verify } = authority();
    const { url, got } = await receiver(({ body }) => ({ status: 200, body: stamp(body) }));
    const { t, decide, run } = await createScene({ tsaUrl: url });
    await decide();
    await Promise.all([run(), run()]);
    expect(got).toHaveLength(1);
    expect(got[0]?.headers['content-type']).toBe('application/timestamp-query');
    // The sealer may have stored a checkpoint over fewer rows before.
    const { size } = await opened(t, (await t.call('GET', '/ledger/checkpoint')).text);
    const { after } = (await t.call('GET', `/ledger/checkpoints?around=${size}`)).body;
    expect(() => verify(after.checkpoint, after.stamp)).not.toThrow();
    expect(() => verify(after.checkpoint.replace(/\n\d+\n/, '\n9\n'), after.stamp)).toThrow();
    t.clock.advance(3_599_000);
    await run();
    expect(got).toHaveLength(1);
    t.clock.advance(1000);
    await decide();
    await run();
    expect(got).toHaveLength(2);
  });

  it('stores only a granted stamp of the checkpoint', async () => {
    const { stamp } = authority();
    let answer = (_: Buffer): Buffer => Buffer.from('3003020102', 'hex');
    const { url } = await receiver(({ body }) => ({ status: 200, body: answer(body) }));
    const { t, decide, run } = await createScene({ tsaUrl: url });
    await decide();
    await expect(run()).rejects.toThrow('not a time stamp of the checkpoint');
    // The server answers with a granted stamp of another text.
    answer = (query) => stamp(Buffer.concat([query.subarray(0, 30), Buffer.alloc(20, 1), query.subarray(50)]));
    t.clock.advance(3_600_000);
    await expect(run()).rejects.toThrow('not a time stamp of the checkpoint');
    const { after } = (await t.call('GET', '/ledger/checkpoints?around=1')).body;
    expect(after?.stamp ?? null).toBeNull();
  });
});
