// The event stream: its throughput, its latency, its cost in memory and for decisions, and the speed of a replay.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fillAudit, fillPeople } from '../support/data.mjs';
import { load } from '../support/load.mjs';
import { pinned } from '../support/machine.mjs';
import { median, ms, ratio, sleep, thousands } from '../support/numbers.mjs';
import { cpuMs, residentMb, startService, writeBodies } from '../support/service.mjs';

export const ASK = { action: 'read', resource: 'mcp:server3:list_issues', arguments: { repo: 'octo/hello', page: 1 } };
const RATE = 100;
const CROWD = 1000;
const IDLE = 5000;
const FOLLOWERS = 100;
const PAST = 200_000;
const MANY_CONNECTIONS = { LEGATE_EVENTS_MAX_CONNECTIONS: '10000' };

export async function measureEvents(context) {
  await measureCrowd(context);
  await measureIdle(context);
  await measureFollowers(context);
  await measureReplay(context);
}

/** All streams receive all events. */
async function measureCrowd({ scratch, report, quick }) {
  await withService(join(scratch, 'crowd'), { agents: 10 }, async ({ service, people, reader }) => {
    const decisions = (seconds) => ({
      do: 'decide',
      url: service.url,
      token: people.small.token,
      body: JSON.stringify(ASK),
      rate: RATE,
      seconds,
    });
    const open = (count) =>
      reader({
        do: 'open',
        url: service.url,
        token: people.ownerToken,
        paths: Array(count).fill('/api/legate/events/stream?types=audit'),
      });
    await open(FOLLOWERS);
    await reader(decisions(1));
    const near = await reader(decisions(quick ? 3 : 10));
    report(`an event at ${FOLLOWERS} streams, ${RATE} events a second, after the response to its decision`, {
      measured: `p50 ${ms(near.p50)}, p99 ${ms(near.p99)}`,
      bar: 'p99 <= 50 ms',
      ok: near.p99 <= 50,
    });
    await reader({ do: 'close' });
    await open(CROWD);
    await reader(decisions(1));
    const before = cpuMs(service.pid);
    const crowd = await reader(decisions(quick ? 4 : 20));
    const cpu = cpuMs(service.pid) - before;
    report(`${thousands(CROWD)} streams, ${RATE} events a second`, {
      measured:
        `${thousands(crowd.frames)} frames, ${crowd.missing} missing, ` +
        `${crowd.alike ? 'all in one order' : 'not all the same'}, p99 ${ms(crowd.p99)}`,
      bar: 'none missing, one order',
      ok: crowd.missing === 0 && crowd.alike,
      promise: true,
    });
    const each = crowd.frames / (cpu / 1000);
    report(`${thousands(CROWD)} streams, frames per second of processor time`, {
      measured: `${thousands(each)} (${thousands(crowd.frames / (crowd.took / 1000))}/s by the clock)`,
      bar: '>= 100,000',
      ok: each >= 100_000,
    });
  });
}

async function measureIdle({ scratch, report }) {
  await withService(join(scratch, 'idle'), { agents: 10 }, async ({ service, people, reader }) => {
    for (let open = 0; open < IDLE; open += 500)
      await reader({
        do: 'open',
        url: service.url,
        token: people.ownerToken,
        paths: Array(500).fill('/api/legate/events/stream'),
      });
    await sleep(2000);
    const mb = residentMb(service.pid);
    report(`${thousands(IDLE)} idle streams`, {
      measured: mb === undefined ? 'no /proc here' : `${mb.toFixed(0)} MB resident`,
      bar: '< 250 MB',
      ok: mb !== undefined && mb < 250,
    });
  });
}

/** The decisions of each of a hundred agents go to a separate stream. */
async function measureFollowers({ scratch, generator, report, rounds, seconds }) {
  await withService(join(scratch, 'followers'), { agents: FOLLOWERS }, async ({ service, people, reader, tokens }) => {
    const bodies = writeBodies(
      join(scratch, 'followers.txt'),
      people.many.map((agentId) => ({ ...ASK, agentId })),
    );
    const decisions = () =>
      load(generator, { url: `${service.url}/authorize`, token: people.ownerToken, bodies }, 64, seconds);
    await decisions();
    const alone = [];
    const followed = [];
    let frames = 0;
    for (let i = 0; i < rounds; i++) {
      alone.push((await decisions()).rps);
      for (const token of tokens)
        await reader({ do: 'open', url: service.url, token, paths: ['/api/legate/events/stream?types=audit'] });
      followed.push((await decisions()).rps);
      await sleep(300);
      frames += (await reader({ do: 'count' })).frames;
      await reader({ do: 'close' });
    }
    const kept = median(followed.map((rps, i) => rps / alone[i]));
    report(`decisions with ${FOLLOWERS} subscribers, each to one agent`, {
      measured:
        `${ratio(kept)} (${thousands(median(followed))}/s against ${thousands(median(alone))}/s), ` +
        `${thousands(frames / rounds / seconds)} frames/s`,
      bar: '>= 0.85',
      ok: kept >= 0.85,
    });
  });
}

async function measureReplay({ scratch, report, rounds }) {
  await withService(join(scratch, 'replay'), { agents: 100, past: PAST }, async ({ service, people, reader }) => {
    const rates = [];
    for (let i = 0; i < Math.min(rounds, 3); i++) {
      const since = performance.timeOrigin + performance.now();
      await reader({
        do: 'open',
        url: service.url,
        token: people.ownerToken,
        paths: ['/api/legate/events/stream?types=audit&since=2020-01-01T00:00:00.000Z'],
      });
      const { took } = await reader({ do: 'until', count: PAST, since });
      rates.push(PAST / (took / 1000));
      await reader({ do: 'close' });
    }
    report(`replay of ${thousands(PAST)} events`, {
      measured: `${thousands(median(rates))}/s`,
      bar: '>= 50,000/s',
      ok: median(rates) >= 50_000,
    });
  });
}

async function withService(dataDir, { agents, past = 0 }, work) {
  const databaseUrl = `sqlite:${join(dataDir, 'legate.db')}`;
  const people = await fillPeople(databaseUrl, agents);
  if (past > 0) await fillAudit(databaseUrl, people, past);
  const service = await startService(databaseUrl, dataDir, { env: MANY_CONNECTIONS });
  const { reader, stop } = startReader();
  try {
    await work({ service, people, reader, tokens: people.manyTokens });
  } finally {
    stop();
    await service.stop();
  }
}

/** Sends commands to the reader, one at a time. */
export function startReader() {
  const [program, ...args] = pinned(1, [process.execPath, join(import.meta.dirname, '../support/events-client.mjs')]);
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  process.once('exit', () => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const reader = async (command) => {
    child.stdin.write(`${JSON.stringify(command)}\n`);
    const { value } = await lines.next();
    const { ok, error } = JSON.parse(value);
    if (error) throw new Error(error);
    return ok;
  };
  return { reader, stop: () => child.stdin.end() };
}
