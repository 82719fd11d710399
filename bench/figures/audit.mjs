// Reads of a million decisions: pages at any depth, and exports during decisions.
import { Agent, get } from 'node:http';
import { countAudit } from '../support/data.mjs';
import { load } from '../support/load.mjs';
import { median, ms, quantile, sleep, thousands } from '../support/numbers.mjs';
import { residentMb, startService } from '../support/service.mjs';
import { ownQuestion, target } from './authorize.mjs';

const agent = new Agent({ keepAlive: true });

/** Opens a GET with the owner's token. Any response other than 200 is an error. */
const open = (url, token) =>
  new Promise((resolve, reject) => {
    get(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
      if (response.statusCode === 200) resolve(response);
      else reject(new Error(`${url} answered ${response.statusCode}`));
    }).once('error', reject);
  });

/** Reads one page. Returns its rows, its duration, and the address of the next page. */
async function page(url, token) {
  const start = performance.now();
  const response = await open(url, token);
  const chunks = [];
  for await (const chunk of response) chunks.push(chunk);
  const took = performance.now() - start;
  const next = /<([^>]+)>;\s*rel="next"/.exec(response.headers.link ?? '')?.[1];
  return {
    rows: JSON.parse(Buffer.concat(chunks).toString('utf8')),
    took,
    next: next && new URL(next, url).href.replace(/^https?:\/\/[^/]+/, new URL(url).origin),
  };
}

export async function measurePages({ history, report, quick }) {
  const { people, rows } = history;
  const { rows: written } = await countAudit(history.databaseUrl);
  const service = await startService(history.databaseUrl, history.dataDir);
  const token = people.ownerToken;
  try {
    const places = [];
    let seen = 0;
    for (let url = `${service.url}/audit?limit=1000`; url; ) {
      const { rows: found, next } = await page(url, token);
      seen += found.length;
      if (next) places.push(next.replace('limit=1000', 'limit=100'));
      url = next;
    }
    report('GET /audit, walk to the end by cursor', {
      measured: `${thousands(seen)} of ${thousands(written)} rows`,
      bar: 'every row once',
      ok: seen === written,
      promise: true,
    });

    const times = [];
    for (let i = 0; i < (quick ? 200 : 600); i++)
      times.push((await page(places[Math.floor(Math.random() * places.length)], token)).took);
    report('GET /audit, page of 100 at any depth', pageFigure(times));

    const filtered = [];
    let wrong = 0;
    for (let i = 0; i < (quick ? 50 : 150); i++) {
      const agentId = people.many[Math.floor(Math.random() * people.many.length)];
      let count = 0;
      for (let url = `${service.url}/audit?agentId=${agentId}&limit=25`; url; ) {
        const { rows: found, took, next } = await page(url, token);
        filtered.push(took);
        count += found.length;
        url = next;
      }
      if (count !== rows / people.many.length) wrong++;
    }
    report('GET /audit, page of 100 of one agent among 10,000', {
      ...pageFigure(filtered),
      ...(wrong > 0 ? { measured: `${wrong} agents with missing rows`, ok: false, promise: true } : {}),
    });
  } finally {
    await service.stop();
  }
}

const pageFigure = (times) => ({
  measured: `p50 ${ms(median(times))}, p99 ${ms(quantile(times, 0.99))}`,
  bar: 'p99 <= 10 ms',
  ok: quantile(times, 0.99) <= 10,
});

/** A text that the file contains once per row, and how many further times it contains it. */
const ROW_MARKS = { ndjson: ['\n', 0], csv: ['\r\n', 1], json: ['"id":"aud_', 0] };

export async function measureExport({ scratch, generator, history, report, quick }) {
  const service = await startService(history.databaseUrl, history.dataDir);
  const { people, rows } = history;
  const decisions = target(service, people.small.token, ownQuestion(scratch));
  const CONNECTIONS = 8;
  const seconds = quick ? 2 : 5;
  try {
    let peak = 0;
    for (const format of ['json', 'csv', 'ndjson']) {
      const { perSecond, resident } = await exportAll(service, people.ownerToken, format, rows);
      peak = Math.max(peak, resident);
      report(`export of 1 million rows, ${format}`, {
        measured: `${thousands(perSecond)} rows/s`,
        bar: '>= 150,000 rows/s',
        ok: perSecond >= 150_000,
      });
    }
    report('resident memory during the exports', {
      measured: `at most ${Math.round(peak)} MB`,
      bar: '< 200 MB',
      ok: peak < 200,
    });

    await load(generator, decisions, CONNECTIONS, 1);
    const alone = await load(generator, decisions, CONNECTIONS, seconds);
    let exporting = true;
    const exports = (async () => {
      while (exporting)
        for await (const _ of await open(`${service.url}/audit/export?format=json`, people.ownerToken))
          if (!exporting) break;
    })();
    await sleep(200);
    const together = await load(generator, decisions, CONNECTIONS, seconds);
    exporting = false;
    await exports.catch(() => {});
    report('p99 of decisions during an export', {
      measured:
        `${ms(together.p99)} against ${ms(alone.p99)} (${thousands(together.rps)}/s against ` +
        `${thousands(alone.rps)}/s)`,
      bar: 'within 2x',
      ok: together.p99 <= 2 * alone.p99,
    });
  } finally {
    await service.stop();
  }
}

async function exportAll(service, token, format, expected) {
  const [mark, more] = ROW_MARKS[format];
  const needle = Buffer.from(mark);
  let resident = 0;
  const sampler = setInterval(() => (resident = Math.max(resident, residentMb(service.pid) ?? 0)), 25);
  const start = performance.now();
  let marks = 0;
  let rest = Buffer.alloc(0);
  try {
    for await (const chunk of await open(`${service.url}/audit/export?format=${format}`, token)) {
      const text = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
      let at = text.indexOf(needle);
      let end = 0;
      for (; at !== -1; at = text.indexOf(needle, end)) {
        marks++;
        end = at + needle.length;
      }
      rest = text.subarray(Math.max(end, text.length - needle.length + 1));
    }
  } finally {
    clearInterval(sampler);
  }
  const perSecond = expected / ((performance.now() - start) / 1000);
  // The export may also contain decisions that other figures made on this database.
  if (marks - more < expected)
    throw new Error(`The ${format} export has ${marks - more} rows, ${expected} were written.`);
  return { perSecond, resident };
}
