import { request } from 'node:http';

/** A raw response from a socket. */
export interface Raw {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly text: string;
}

/** Headers that always differ: the time, the request id, and those of the connection. */
export const BY_NATURE = new Set([
  'date',
  'x-request-id',
  'connection',
  'keep-alive',
  'content-length',
  'transfer-encoding',
]);

/** Sends one request over its own socket, with headers that `fetch` would not send. */
export const send = (
  port: number,
  method: string,
  path: string,
  headers: Record<string, string | string[]>,
  body?: Buffer | undefined,
): Promise<Raw> =>
  new Promise((resolve, reject) => {
    const req = request(
      {
        port,
        host: '127.0.0.1',
        method,
        path,
        headers: {
          ...headers,
          ...(body && !('transfer-encoding' in headers) ? { 'content-length': String(body.length) } : {}),
        },
      },
      (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (c: Buffer) => chunks.push(c));
        res.on('end', () => {
          const kept = Object.entries(res.headers).filter(([name]) => !BY_NATURE.has(name));
          resolve({
            status: res.statusCode ?? 0,
            headers: Object.fromEntries(kept) as Record<string, string>,
            text: Buffer.concat(chunks).toString(),
          });
        });
        res.on('error', reject);
      },
    );
    req.on('error', reject);
    req.end(body);
  });
