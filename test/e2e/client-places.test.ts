import { resolve } from 'node:path';
import { Worker as NodeWorker } from 'node:worker_threads';
import { rolldown } from 'rolldown';
import { beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../support/chromium.ts';
import { walk } from '../support/client-walk.ts';
import { pagesService } from '../support/pages-service.ts';

const EXPECTED = [
  'allowed true',
  // The client sends this request twice with one idempotency key, because the first response is lost.
  'recorded 1',
  'denied NO_PERMISSION',
  'thrown NO_PERMISSION',
  'error 404 AGENT_NOT_FOUND true',
  'page 2, then true, all 3',
  'event audit',
  'event audit',
  'event audit',
];

/** The globals of the page below. */
interface Page {
  readonly walk: typeof walk;
  readonly inWorker: typeof walk;
}
const PAGE = `<!doctype html><script type="module">
import { walk } from '/walk/client.js';
globalThis.walk = walk;
globalThis.inWorker = (...given) => new Promise((done, fail) => {
  const worker = new Worker('/walk/client.js', { type: 'module' });
  worker.onmessage = ({ data }) => done(data);
  worker.onerror = ({ message }) => fail(new Error(message));
  worker.postMessage(given);
});
</script>`;

describe.skipIf(chromiumPath === undefined)('legate/client', () => {
  const service = pagesService({ users: { requireSecondFactor: 'none' } });
  let code = '';
  let given: readonly [url: string, token: string, ownerId: string];

  beforeAll(async () => {
    const bundle = await rolldown({ input: resolve(import.meta.dirname, '../support/client-walk.ts') });
    code = (await bundle.generate({ format: 'esm' })).output[0].code;
    const { id } = await service.legate.users.create({
      email: 'walker@example.com',
      password: 'correct horse battery',
    });
    const answer = await fetch(`${service.url}/sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'walker@example.com', password: 'correct horse battery' }),
    });
    given = [service.url, ((await answer.json()) as { token: string }).token, id];
  });

  it('works in Node', async () => {
    expect(await walk(...given)).toEqual(EXPECTED);
  });

  it('works in a worker of Node', async () => {
    const run = `${code}; const { parentPort, workerData } = await import('node:worker_threads');
      walk(...workerData).then((seen) => parentPort.postMessage(seen));`;
    const worker = new NodeWorker(new URL(`data:text/javascript,${encodeURIComponent(run)}`), { workerData: given });
    const seen = await new Promise((done, fail) => worker.once('message', done).once('error', fail));
    await worker.terminate();
    expect(seen).toEqual(EXPECTED);
  });

  it('works in a page of Chromium, and in a worker of it', async () => {
    const { page, context } = await service.open({ javaScriptEnabled: true });
    await page.route('**/walk/*', (route) =>
      route.request().url().endsWith('.js')
        ? route.fulfill({
            contentType: 'text/javascript',
            body: `${code}; globalThis.onmessage = ({ data }) => walk(...data).then((seen) => postMessage(seen));`,
          })
        : route.fulfill({
            contentType: 'text/html',
            body: PAGE,
          }),
    );
    await page.goto(`${service.url}/walk/page`);
    const here = await page.evaluate((args) => (globalThis as unknown as Page).walk(...args), given);
    expect(here).toEqual(EXPECTED);
    const there = await page.evaluate((args) => (globalThis as unknown as Page).inWorker(...args), given);
    expect(there).toEqual(EXPECTED);
    await context.close();
  });
});
