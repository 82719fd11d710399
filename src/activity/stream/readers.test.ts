import { readFileSync } from 'node:fs';
import { EventSource as LibrarySource } from 'eventsource';
import { createParser } from 'eventsource-parser';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { chromiumPath, complaintsOf, openChromium } from '../../../test/support/chromium.ts';
import { freePort } from '../../../test/support/process.ts';
import { random } from '../../../test/support/random.ts';
import {
  createTestService,
  type Json,
  type TestAgent,
  type TestService,
  type TestUser,
} from '../../../test/support/service.ts';
import { until } from '../../../test/support/until.ts';
import { type Listening, listen } from '../../http/node.ts';
import { EVENT_TYPES } from '../../ledger/index.ts';

interface Received {
  readonly id: string;
  readonly type: string;
  readonly data: string;
}

const TYPES = Object.keys(EVENT_TYPES);
const EXAMPLE = readFileSync(new URL('../../../examples/browser/events.html', import.meta.url), 'utf8');
/** Texts that break a parser with other line ends, or a writer with other escapes. */
const HARD = [
  'line\nline\r\nline\rline\n\n',
  '\u2028 \u2029 \u0085 \u000b \u000c',
  '\ufeffdata: x\n\nid: evt_forged\nevent: error\n\n: comment',
  '\u0000 \u001f \u007f \ufffe',
  'Zürich 🦀 e\u0301 👩‍👩‍👧 \u202e',
  '"\\ </script> \u001b[31m',
];

let t: TestService;
let owner: TestUser;
let agent: TestAgent;
let listening: Listening;
let browser: Browser;
let url: string;
let since: string;
beforeAll(async () => {
  const port = await freePort();
  url = `http://localhost:${port}`;
  t = await createTestService({ lasting: true, config: { baseUrl: url, http: { port } } });
  listening = await listen(t.legate, { port, host: '127.0.0.1' });
  if (chromiumPath !== undefined) browser = await openChromium();
});
afterAll(async () => {
  await browser?.close();
  await listening?.stop(100);
});

/** Events of many types and shapes. */
async function happen(): Promise<void> {
  for (const text of HARD)
    await t.legate.events.emit({
      type: 'cost.recorded',
      agentId: agent.id,
      userId: owner.id,
      data: { text, [text]: [text] },
    });
  const spare = await t.agent(owner, { name: 'Zürich 🦀 \u2028' });
  await t.call('PATCH', `/agents/${spare.id}`, { as: owner, body: { name: 'x' } });
  await t.call('POST', `/agents/${spare.id}/rotate`, { as: owner });
  await t.call('DELETE', `/agents/${spare.id}`, { as: owner });
  await Promise.all(
    HARD.slice(4).map((text) => t.authorize(agent, { action: 'read', resource: 'db:x', arguments: { text } })),
  );
}
const large = () =>
  t.legate.events.emit({
    type: 'budget.exceeded',
    agentId: agent.id,
    userId: owner.id,
    data: { text: 'ü\u2028'.repeat(200_000) },
  });

/** The events that readers should receive, from GET /events. */
async function committed(): Promise<Received[]> {
  const { body } = await t.call('GET', `/events?limit=1000&since=${since}`, { as: owner });
  return body.map((record: Json) => ({ id: record.id, type: record.type, data: JSON.stringify(record) })).reverse();
}
/** Ids, types and data. The data is serialised again, because the order of its keys does not matter. */
const read = (all: readonly Received[]): Received[] =>
  all.map(({ id, type, data }) => ({ id, type, data: JSON.stringify(JSON.parse(data)) }));

it.skipIf(chromiumPath === undefined)(
  'eventsource, eventsource-parser and Chromium receive the same events, live and replayed, across broken connections',
  async () => {
    const { seed, below } = random();
    const context = await browser.newContext();
    const complaints = complaintsOf(context);
    const page = await context.newPage();
    await page.route(`${url}/live?*`, (route) => route.fulfill({ contentType: 'text/html', body: EXAMPLE }));
    await page.route(`${url}/`, (route) => route.fulfill({ contentType: 'text/html', body: '<title>empty</title>' }));
    await page.goto(`${url}/`);
    const signedUp = await page.evaluate(async () => {
      const body = JSON.stringify({ email: 'reader@example.com', password: 'correct horse battery' });
      return (
        await fetch('/sign-up', { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      ).json();
    });
    owner = { id: signedUp.user.id, email: 'reader@example.com', token: signedUp.token };
    agent = await t.agent(owner, { permissions: [{ resource: 'db:*', actions: ['read'] }] });
    t.clock.advance(1);
    since = new Date(t.clock.now()).toISOString();

    // Three readers in the browser: the example, on a page of the same origin; a plain EventSource with the cookie; and
    // one whose ticket is spent after its first connection.
    await page.goto(`${url}/live?types=${TYPES}`);
    const plain = await context.newPage();
    await plain.route(`${url}/`, (route) => route.fulfill({ contentType: 'text/html', body: '<title>empty</title>' }));
    await plain.goto(`${url}/`);
    await plain.evaluate(
      async ({ types, since }) => {
        const { ticket } = await (await fetch('/events/ticket', { method: 'POST' })).json();
        const follow = (query: string) => {
          const seen: { id: string; type: string; data: string }[] = [];
          const source = new EventSource(`/api/legate/events/stream?since=${since}${query}`);
          for (const type of [...types, 'error'])
            source.addEventListener(type, (event) => {
              if (event instanceof MessageEvent) seen.push({ id: event.lastEventId, type, data: event.data });
            });
          return seen;
        };
        Object.assign(window, { byCookie: follow(''), byTicket: follow(`&ticket=${ticket}`) });
      },
      { types: TYPES, since },
    );
    const seenBy = (name: 'byCookie' | 'byTicket'): Promise<Received[]> =>
      plain.evaluate((key) => (window as unknown as Record<string, Received[]>)[key] as never, name);
    const seenByExample = (): Promise<Received[]> =>
      page.$$eval('li', (all) => all.map((item) => ({ id: item.id, type: item.title, data: item.textContent ?? '' })));
    const seenByLibrary: Received[] = [];
    const library = new LibrarySource(`${url}/api/legate/events/stream?since=${since}`, {
      fetch: (input, init) =>
        fetch(input, { ...init, headers: { ...init.headers, authorization: `Bearer ${owner.token}` } }),
    });
    for (const type of TYPES)
      library.addEventListener(type, ({ lastEventId, data }) => seenByLibrary.push({ id: lastEventId, type, data }));

    await until(() => t.legate.events.connectionCount() === 4, { timeout: 60_000 });
    await happen();
    const first = await committed();
    await until(async () => (await seenBy('byTicket')).length === first.length, { timeout: 60_000 });
    // Events are written while the readers are disconnected and while they reconnect.
    listening.server.closeAllConnections();
    await happen();
    await large();
    await until(() => t.legate.events.connectionCount() === 3, { timeout: 60_000 });
    await happen();

    const all = await committed();
    const arrived = async (): Promise<boolean> =>
      [await seenBy('byCookie'), await seenByExample(), seenByLibrary].every((seen) => seen.length >= all.length);
    await until(arrived, { timeout: 60_000, interval: 100 });
    await until(async () => (await seenBy('byTicket')).length > first.length, {
      timeout: 60_000,
      interval: 100,
    });
    expect(read(seenByLibrary)).toEqual(all);
    expect(await seenBy('byCookie')).toEqual(seenByLibrary);
    expect(await seenByExample()).toEqual(seenByLibrary);
    // The ticket was valid for one connection. The browser tries the same address again and is refused each time.
    const spent = await seenBy('byTicket');
    expect(read(spent.slice(0, first.length))).toEqual(first);
    const refusals = spent.slice(first.length);
    for (const { type, data } of refusals) expect([type, JSON.parse(data).code]).toEqual(['error', 'UNAUTHORIZED']);
    library.close();
    expect(complaints.filter((complaint) => !complaint.includes('ERR_INCOMPLETE_CHUNKED_ENCODING'))).toEqual([]);
    await context.close();

    // The parser reads the bytes cut at any position.
    const bytes = await replayed(all.at(-1)?.id as string);
    const parse = (cuts: Iterable<number>, upto = bytes.length): Received[] => {
      const seen: Received[] = [];
      const parser = createParser({ onEvent: ({ id = '', event = '', data }) => seen.push({ id, type: event, data }) });
      const decoder = new TextDecoder();
      let at = 0;
      for (const size of cuts) {
        if (at >= upto) break;
        parser.feed(decoder.decode(bytes.subarray(at, Math.min(upto, at + size)), { stream: true }));
        at += size;
      }
      return seen;
    };
    function* sizes(next: () => number): Generator<number> {
      for (;;) yield next();
    }
    const whole = parse([bytes.length]);
    expect(whole).toEqual(seenByLibrary);
    for (let i = 0; i < 20; i++)
      expect(parse(sizes(() => 1 + below(20_000))), `LEGATE_TEST_SEED=${seed}`).toEqual(whole);
    // Every chunk size, for a text with every difficult character.
    const upto = bytes.indexOf(`id: ${all[HARD.length]?.id}\n`);
    for (let size = 1; size <= upto; size++)
      expect(
        parse(
          sizes(() => size),
          upto,
        ),
      ).toEqual(whole.slice(0, HARD.length));
  },
);

/** The body of the stream from `since` up to the event `last`. */
async function replayed(last: string): Promise<Buffer> {
  const response = await fetch(`${url}/api/legate/events/stream?since=${since}`, {
    headers: { authorization: `Bearer ${owner.token}` },
  });
  let bytes = Buffer.alloc(0);
  for await (const piece of response.body as ReadableStream<Uint8Array>) {
    bytes = Buffer.concat([bytes, piece]);
    const at = bytes.indexOf(`id: ${last}\n`);
    if (at !== -1 && bytes.indexOf('\n\n', at) !== -1) break;
  }
  return bytes;
}
