import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { type Listening, listen } from '../../src/http/node.ts';
import { systemClock } from '../../src/kernel/clock.ts';
import type { Mail } from '../../src/operations/mail/index.ts';
import { LIMITED_ENDPOINTS } from '../../src/platform/limited-endpoints.ts';
import { createLegate, type Legate, type LegateInput } from '../../src/service.ts';
import { complaintsOf, openContext, PHONE } from './chromium.ts';
import { freePort } from './process.ts';
import { newTestDatabase } from './service.ts';

/** A service with high rate limits and a browser, for the tests of one `describe`. */
export interface PagesService {
  readonly url: string;
  readonly port: number;
  readonly legate: Legate;
  readonly mails: Mail[];
  /** Opens a window of phone size, by default without scripts. */
  open(options?: BrowserContextOptions): Promise<{ page: Page; context: BrowserContext; complaints: string[] }>;
}

/** Starts it before the tests of the calling `describe` and ends it after them. */
export function pagesService(config: LegateInput = {}): PagesService {
  let legate: Legate;
  let server: Listening;
  let url = '';
  const mails: Mail[] = [];
  const closers: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    const port = await freePort();
    url = `http://localhost:${port}`;
    const place = await newTestDatabase(undefined, closers);
    const endpoints = Object.fromEntries(Object.keys(LIMITED_ENDPOINTS).map((name) => [name, { limit: 1000 }]));
    legate = await createLegate(
      {
        dataDir: place.dir,
        databaseUrl: place.url,
        baseUrl: url,
        http: { port },
        rateLimit: { endpoints },
        ...config,
      },
      { clock: systemClock, printMail: (mail) => void mails.push(mail) },
    );
    server = await listen(legate, { port, host: '127.0.0.1' });
  });
  afterAll(async () => {
    await server?.stop(100);
    await legate?.close();
    for (const close of closers) await close();
  });
  return {
    get url() {
      return url;
    },
    get port() {
      return server.port;
    },
    get legate() {
      return legate;
    },
    mails,
    async open(options = {}) {
      const context = await openContext({ viewport: PHONE, javaScriptEnabled: false, ...options });
      const complaints = complaintsOf(context);
      return { context, complaints, page: await context.newPage() };
    },
  };
}

/** Sends a request with a bearer token. Expects that it succeeds, and returns the answer. */
export async function sendTo(
  url: string,
  token: string,
  method: string,
  path: string,
  body?: object,
  // biome-ignore lint/suspicious/noExplicitAny: answers of the API.
): Promise<any> {
  const response = await fetch(url + path, {
    method,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    ...(body && { body: JSON.stringify(body) }),
  });
  expect(response.status, `${method} ${path}`).toBeLessThan(300);
  return response.json();
}
