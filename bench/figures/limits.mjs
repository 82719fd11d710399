// The cost of a rate limit: in memory, under a flood of keys, and with Redis reachable and lost.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { MemoryStore } from '../../dist/http/rate-limit/memory-store.js';
import { SharedStore } from '../../dist/http/rate-limit/shared-store.js';
import { median, ms, quantile, thousands } from '../support/numbers.mjs';
import { fromTests } from '../support/typescript.mjs';

const CALLS = 1_000_000;
const FLOOD = 2_000_000;
const MINUTE = 60_000;
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
const clock = { now: () => Date.now() };

export async function measureLimits(context) {
  measureMemory(context);
  await measureRedis(context);
}

function measureMemory({ report, rounds }) {
  const keys = Array.from({ length: 1000 }, (_, i) => `signIn:10.0.${i >> 8}.${i & 255}`);
  const hot = [];
  for (let round = 0; round < rounds; round++) {
    const store = new MemoryStore();
    const start = performance.now();
    for (let i = 0; i < CALLS; i++) store.take(keys[i % 1000], 10, MINUTE, clock.now());
    hot.push(((performance.now() - start) * 1000) / CALLS);
  }
  report('limiter in memory, 1,000 keys', {
    measured: `${median(hot).toFixed(2)} µs a call`,
    bar: '<= 1 µs',
    ok: median(hot) <= 1,
  });

  const flood = [];
  let most = 0;
  let grown = 0;
  for (let round = 0; round < Math.min(rounds, 3); round++) {
    collect();
    const before = process.memoryUsage().heapUsed;
    const store = new MemoryStore();
    const start = performance.now();
    for (let i = 0; i < FLOOD; i++) store.take(`signIn:${round}:${i}`, 10, MINUTE, clock.now());
    flood.push(((performance.now() - start) * 1000) / FLOOD);
    most = Math.max(most, store.size);
    collect();
    grown = Math.max(grown, (process.memoryUsage().heapUsed - before) / 1024 / 1024);
  }
  report('limiter in memory, 2 million distinct keys', {
    measured: `${median(flood).toFixed(2)} µs a call, ${thousands(most)} keys held at the end, ${grown.toFixed(0)} MB`,
    bar: '<= 1 µs, at most 65,536 keys',
    ok: median(flood) <= 1 && most <= 65_536,
  });
}

async function measureRedis({ report }) {
  const { startRedis, wireTo } = await fromTests('support/redis-wire');
  const server = await startRedis();
  if (!server) {
    report('limiter in Redis', {
      measured: 'not run: no redis-server on the PATH',
      bar: 'one command a call',
      ok: false,
    });
    return;
  }
  const wire = await wireTo(server.url);
  const store = new SharedStore({ url: wire.url, prefix: 'bench:', clock, onChange: () => {} });
  try {
    await store.open();
    const before = wire.commands();
    const there = await timeCalls(store, 2000);
    report('limiter in Redis', {
      measured:
        `${((wire.commands() - before) / 2000).toFixed(2)} commands a call, p50 ${ms(quantile(there, 0.5))}, ` +
        `p99 ${ms(quantile(there, 0.99))}`,
      bar: 'one command a call',
      ok: wire.commands() - before <= 2001,
    });
    await wire.cut();
    // Only the call that detects the loss waits.
    const [first] = await timeCalls(store, 1);
    const gone = await timeCalls(store, 2000);
    report('limiter after the loss of Redis', {
      measured: `p99 ${ms(quantile(gone, 0.99))}, at most ${ms(Math.max(...gone))}; the first call ${ms(first)}`,
      bar: 'p99 <= 1 ms added',
      ok: quantile(gone, 0.99) <= 1,
    });
  } finally {
    store.close();
    await wire.close();
    server.stop();
  }
}

async function timeCalls(store, calls) {
  const times = [];
  for (let i = 0; i < calls; i++) {
    const start = performance.now();
    await store.take(`signIn:10.0.0.${i & 255}`, 10, MINUTE);
    times.push(performance.now() - start);
  }
  return times;
}
