import { defineModule } from '../../platform.ts';
import { EventErrors } from './errors.ts';
import { eventHub } from './hub.ts';
import { forgetOldEvents, retention } from './retention.ts';
import { eventRoutes } from './routes.ts';
import { slotsOf, streamSlots } from './stream.ts';

/**
 * The event stream (Server-Sent Events), its tickets, and the list of past events (specification 4.7 and 6.2, contract
 * 13).
 *
 * Guarantees: a stream has no gap and no duplicate, also after a reconnect; it ends with its credential; callers see
 * only events that concern them; slow readers cost limited memory and do not delay others.
 *
 * `hub.ts` reads the ledger for all streams, `connection.ts` is one stream (decision 16). Webhooks are in
 * `../webhooks`.
 */
export { type EventsApi, eventsApi } from './api.ts';
export { eventId, findRowOf, toJson } from './record.ts';
export type { StreamEvent } from './schema.ts';

export const events = defineModule({
  name: 'events',
  description: 'Events: a live stream, and pages of past events.',
  routes: eventRoutes,
  errors: EventErrors,
  states: [eventHub, streamSlots, retention],
  upkeep: forgetOldEvents,
  gauges: [
    {
      name: 'event_streams',
      help: 'Open event streams of this process.',
      read: (platform) => slotsOf(platform).size,
    },
  ],
  drain: (platform) => slotsOf(platform).drain(),
  endStreams: (platform) => slotsOf(platform).close(),
  stop: async (platform) => {
    slotsOf(platform).close();
    await platform.stateOf(retention).stop();
  },
});
