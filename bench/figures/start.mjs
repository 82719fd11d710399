// The second start of a service, when its data are there, and what it takes at rest.
import { join } from 'node:path';
import { median, sleep } from '../support/numbers.mjs';
import { residentMb, startService } from '../support/service.mjs';

export async function measureStart({ scratch, report, quick }) {
  const dataDir = join(scratch, 'start');
  const databaseUrl = `sqlite:${join(dataDir, 'legate.db')}`;
  await (await startService(databaseUrl, dataDir)).stop();
  const times = [];
  let idle;
  for (let i = 0; i < (quick ? 3 : 5); i++) {
    const service = await startService(databaseUrl, dataDir);
    times.push(service.readyAfterMs);
    await sleep(1000);
    idle = residentMb(service.pid);
    await service.stop();
  }
  report('second start to ready', {
    measured: `${Math.round(median(times))} ms`,
    bar: '<= 400 ms',
    ok: median(times) <= 400,
  });
  if (idle !== undefined)
    report('resident memory at rest', { measured: `${Math.round(idle)} MB`, bar: '<= 90 MB', ok: idle <= 90 });
}
