import { chunk } from '../../../kernel/chunk.ts';
import { asId, type Id } from '../../../kernel/ids.ts';
import { defineState, type Platform } from '../../../platform.ts';
import { announcePermissions, gatewayServers } from '../gateway.ts';
import { type Opened, watchedPeople } from './opened.ts';

const CHECK_MS = 400;

export const watchState = defineState(
  (): { timer: NodeJS.Timeout | undefined; checking: Promise<void> | undefined } => ({
    timer: undefined,
    checking: undefined,
  }),
);

/**
 * Within a second, on every instance, ends the processes and sessions of deleted or suspended people and of ended
 * connections, and notifies clients of changed permissions and of new connections.
 */
export function startWatch(platform: Pick<Platform, 'database' | 'log' | 'stateOf'>): void {
  if (platform.stateOf(gatewayServers).size === 0) return;
  const watch = platform.stateOf(watchState);
  watch.timer = setInterval(() => {
    watch.checking ??= Promise.all([endFormer(platform), announcePermissions(platform)])
      .then(() => {})
      .catch((error: unknown) => platform.log.warn({ err: error }, 'Connections of the gateway could not be checked'))
      .finally(() => {
        watch.checking = undefined;
      });
  }, CHECK_MS).unref();
}

export async function stopWatch({ stateOf }: Pick<Platform, 'stateOf'>): Promise<void> {
  const watch = stateOf(watchState);
  clearInterval(watch.timer);
  await watch.checking;
}

async function endFormer({ database, stateOf }: Pick<Platform, 'database' | 'stateOf'>): Promise<void> {
  const relays = [...stateOf(gatewayServers).values()];
  const watched = stateOf(watchedPeople);
  const people = (): Set<Id<'user'>> =>
    new Set(relays.flatMap((relay) => [...relay.people()].map((person) => asId('user', person))));
  for (const some of chunk([...people()])) {
    const before = new Map<string, ReadonlyMap<string, Opened>>(some.map((person) => [person, watched.of(person)]));
    const { stored } = watched;
    const db = database.read;
    const users = await db.selectFrom('users').select(['id', 'suspended_at']).where('id', 'in', some).execute();
    const rows = await db
      .selectFrom('gateway_connections')
      .select(['user_id', 'server', 'version'])
      .where('user_id', 'in', some)
      .execute();
    for (const person of some) {
      const own = rows.filter(({ user_id }) => user_id === person);
      const versions = new Map(own.map(({ server, version }) => [server, version]));
      for (const name of watched.newlyConnected(person, versions, stored))
        stateOf(gatewayServers).get(name)?.announceTools(person);
      const user = users.find(({ id }) => id === person);
      for (const relay of relays) {
        const { name } = relay.server;
        const opened = before.get(person)?.get(name);
        const row = own.find(({ server }) => server === name);
        const isGone = user ? user.suspended_at !== null : opened?.known === true;
        // A connection that was opened in the meantime is checked the next time.
        const isFormer =
          opened?.version !== undefined && row?.version !== opened.version && watched.of(person).get(name) === opened;
        if (isFormer) watched.ended(person, name);
        if (isGone || isFormer) void relay.endPerson(person);
      }
    }
  }
  watched.keepOnly(people());
}
