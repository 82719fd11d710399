import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export const sha1 = (password: string): string => createHash('sha1').update(password).digest('hex').toUpperCase();

export interface RangeServer {
  readonly url: string;
  /** Each request: its path and headers. */
  readonly asked: { path: string; headers: IncomingMessage['headers'] }[];
  /** Replaces the response of the server, which it receives. */
  answer: ((res: ServerResponse, list: string) => void) | undefined;
}

/**
 * Starts a range service on loopback that knows the given passwords and some others, with padding. It ends with the
 * test.
 */
export async function openRangeServer(known: Readonly<Record<string, number>>): Promise<RangeServer> {
  const hashes = Object.entries(known).map(([password, count]) => [sha1(password), count] as const);
  const asked: RangeServer['asked'] = [];
  const range: { answer: RangeServer['answer'] } = { answer: undefined };
  const server = createServer((req, res) => {
    const path = (req.url ?? '').split('?')[0] as string;
    asked.push({ path, headers: req.headers });
    const prefix = /^\/range\/([0-9A-F]{5})$/.exec(path)?.[1];
    if (prefix === undefined) {
      res.writeHead(400).end('The hash was not in a valid format');
      return;
    }
    const lines = [
      ...hashes.filter(([hash]) => hash.startsWith(prefix)).map(([hash, count]) => `${hash.slice(5)}:${count}`),
      ...Array.from({ length: 20 }, (_, i) => `${suffix()}:${i + 1}`),
      ...(req.headers['add-padding'] === 'true' ? Array.from({ length: 20 }, () => `${suffix()}:0`) : []),
    ];
    const list = lines.sort().join('\r\n');
    if (range.answer) range.answer(res, list);
    else res.writeHead(200, { 'content-type': 'text/plain' }).end(list);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return Object.assign(range, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked });
}

const suffix = (): string => randomBytes(18).toString('hex').toUpperCase().slice(0, 35);
