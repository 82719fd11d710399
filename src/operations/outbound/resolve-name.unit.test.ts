import { createSocket, type Socket } from 'node:dgram';
import { mkdtempSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { LookUps } from './look-ups.ts';
import { registrableDomain } from './registrable-domain.ts';
import { nameResolver } from './resolve-name.ts';

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.close();
});

/**
 * A name server that answers queries for IPv4 with 192.0.2.7, those for other types with no records, and `silent.`
 * never.
 */
async function nameServer(): Promise<{ address: string; asked: string[] }> {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (query, from) => {
    let at = 12;
    const labels: string[] = [];
    for (let length = query[at] as number; length > 0; length = query[at] as number) {
      labels.push(query.subarray(at + 1, at + 1 + length).toString());
      at += 1 + length;
    }
    const isV4 = query.readUInt16BE(at + 1) === 1;
    asked.push(labels.join('.'));
    if (labels[0] === 'silent') return;
    const answer = Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7]);
    const header = Buffer.from(query.subarray(0, 12));
    header.writeUInt16BE(0x8180, 2);
    header.writeUInt16BE(isV4 ? 1 : 0, 6);
    header.writeUInt16BE(0, 8);
    header.writeUInt16BE(0, 10);
    socket.send(
      Buffer.concat([header, query.subarray(12, at + 5), ...(isV4 ? [answer] : [])]),
      from.port,
      from.address,
    );
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  sockets.push(socket);
  return { address: `127.0.0.1:${(socket.address() as AddressInfo).port}`, asked };
}

function hostsFile(text: string): string {
  const path = join(mkdtempSync(join(tmpdir(), 'legate-hosts-')), 'hosts');
  writeFileSync(path, text);
  return path;
}

describe('the addresses of a name', () => {
  it('come from a name server', async () => {
    const { address } = await nameServer();
    expect(await nameResolver({ servers: [address] })('www.example.com')).toEqual(['192.0.2.7']);
  });

  it('come from the hosts file first; those of localhost need no look-up', async () => {
    const { address, asked } = await nameServer();
    const file = hostsFile('# names\n10.0.0.5 Hook.internal other # both\n::2 hook.internal\nnonsense hook.internal\n');
    const resolve = nameResolver({ servers: [address], hostsFile: file });
    expect(await resolve('hook.internal')).toEqual(['10.0.0.5', '::2']);
    expect(await resolve('app.localhost')).toEqual(['127.0.0.1', '::1']);
    expect(asked).toEqual([]);
  });

  it('time out, while other names and the hosts file are not delayed', async () => {
    const { address, asked } = await nameServer();
    const file = hostsFile('10.0.0.5 hook.internal\n');
    const resolve = nameResolver({ servers: [address], hostsFile: file, timeoutMs: 300 });
    // Four are asked for at a time, so all of them take 15 times the timeout.
    const silent = Array.from({ length: 60 }, (_, i) => resolve(`silent.a${i}.attacker.example`));
    const outcomes = Promise.allSettled(silent.slice(0, 8));
    void Promise.allSettled(silent);
    expect(await Promise.all([resolve('hook.internal'), resolve('www.example.com')])).toEqual([
      ['10.0.0.5'],
      ['192.0.2.7'],
    ]);
    expect(new Set(asked.filter((name) => name.startsWith('silent.'))).size).toBeLessThan(60);
    expect((await outcomes).every(({ status }) => status === 'rejected')).toBe(true);
  });
});

describe('concurrent look-ups', () => {
  it('are limited per registrable domain and in total, and so is their queue', async () => {
    const lookUps = new LookUps({ atOnce: 3, perDomain: 2, waiting: 2 });
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const start = (name: string): Promise<void> =>
      lookUps.run(name, () => {
        begun.push(name);
        return new Promise<void>((resolve) => ends.push(resolve));
      });
    const running = [start('a.evil.example'), start('b.evil.example'), start('c.evil.example'), start('good.example')];
    await Promise.resolve();
    expect(begun).toEqual(['a.evil.example', 'b.evil.example', 'good.example']);
    running.push(start('next.example'));
    await expect(start('more.example')).rejects.toThrow('too many');
    ends[2]?.();
    await running[3];
    await new Promise((resolve) => setImmediate(resolve));
    expect(begun).toEqual(['a.evil.example', 'b.evil.example', 'good.example', 'next.example']);
    for (let i = 0; i < 5; i++) {
      for (const end of ends) end();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(running);
  });

  it.each([
    ['a.b.example.com', 'example.com'],
    ['a.b.example.co.uk', 'example.co.uk'],
    ['Example.COM.', 'example.com'],
    ['localhost', 'localhost'],
    ['192.0.2.1', '192.0.2.1'],
  ])('%s counts for %s', (name, domain) => {
    expect(registrableDomain(name)).toBe(domain);
  });
});
