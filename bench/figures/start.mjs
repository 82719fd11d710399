// The second start of a service, when its data exist, and its memory at rest.
import { join } from 'node:path';
import { median, sleep } from '../support/numbers.mjs';
import { residentMb, startService } from '../support/service.mjs';

/** V8 collects the garbage of the start 8 to 17 seconds after it, depending on the machine. */
const AT_REST_MS = 20_000;

export async function measureStart({ scratch, report, quick }) {
  const dataDir = join(scratch, 'start');
  const databaseUrl = `sqlite:${join(dataDir, 'legate.db')}`;
  await (await startService(databaseUrl, dataDir)).stop();
  const times = [];
  let first;
  for (let i = 0; i < (quick ? 3 : 5); i++) {
    const service = await startService(databaseUrl, dataDir);
    times.push(service.readyAfterMs);
    await sleep(1000);
    first = residentMb(service.pid);
    await service.stop();
  }
  const service = await startService(databaseUrl, dataDir);
  await sleep(AT_REST_MS);
  const idle = residentMb(service.pid);
  await service.stop();
  report('second start to ready', {
    measured: `${Math.round(median(times))} ms`,
    bar: '<= 400 ms',
    ok: median(times) <= 400,
  });
  if (idle !== undefined)
    report(`resident memory at rest, ${AT_REST_MS / 1000} s after the start`, {
      measured: `${Math.round(idle)} MB (${Math.round(first)} MB after 1 s)`,
      bar: '<= 90 MB',
      ok: idle <= 90,
    });
}
