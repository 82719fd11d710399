// POST /authorize on PostgreSQL. Server, database and load share the two cores.
import { join } from 'node:path';
import { fillPeople } from '../support/data.mjs';
import { compare } from '../support/load.mjs';
import { ms, ratio, thousands } from '../support/numbers.mjs';
import { startReference, startService } from '../support/service.mjs';
import { fromTests } from '../support/typescript.mjs';
import { ownQuestion, target } from './authorize.mjs';

export async function measurePostgres({ scratch, generator, rounds, seconds, report }) {
  const { startPostgres } = await fromTests('support/postgres-server');
  const postgres = await startPostgres();
  try {
    const people = await fillPeople(postgres.url, 10);
    const reference = await startReference();
    const service = await startService(postgres.url, join(scratch, 'postgres'), { pin: false });
    const own = ownQuestion(scratch);
    try {
      const wide = await compare(
        generator,
        target(reference, people.small.token, own),
        target(service, people.small.token, own),
        { connections: 64, rounds, seconds },
      );
      report('POST /authorize on PostgreSQL, 64 connections', {
        measured:
          `${ratio(wide.ratio)} of raw (${thousands(wide.b.rps)}/s of ${thousands(wide.a.rps)}/s), ` +
          `p50 ${ms(wide.b.p50)}, p99 ${ms(wide.b.p99)}`,
        bar: '>= 0.20 of raw',
        ok: wide.ratio >= 0.2,
      });
    } finally {
      await service.stop();
      await reference.stop();
    }
  } finally {
    await postgres.remove();
  }
}
