import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Loopback {
  readonly redirectUri: string;
  /** Returns the parameters of the first request to the redirect URI. Throws after `ms`. */
  wait(ms: number): Promise<URLSearchParams>;
  close(): Promise<void>;
}

const PAGE =
  '<!doctype html><meta charset="utf-8"><title>Done</title><p>Done. You can close this window. The test ' +
  'continues in the terminal.</p>';

/** Opens a redirect URI on this machine (RFC 8252, section 7.3). */
export async function openLoopback(): Promise<Loopback> {
  let arrived: (parameters: URLSearchParams) => void = () => {};
  const first = new Promise<URLSearchParams>((resolve) => {
    arrived = resolve;
  });
  const server = createServer((req, res) => {
    const url = new URL(req.url ?? '/', 'http://127.0.0.1');
    if (url.pathname !== '/callback') {
      res.writeHead(404).end();
      return;
    }
    res
      .writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store', connection: 'close' })
      .end(PAGE);
    arrived(url.searchParams);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    redirectUri: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`,
    wait: async (ms) => {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error('The login was not completed in time.')), ms);
      });
      try {
        return await Promise.race([first, late]);
      } finally {
        clearTimeout(timer);
      }
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
