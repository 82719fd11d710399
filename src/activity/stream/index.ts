import { defineModule } from '../../platform.ts';
import { EventErrors } from './errors.ts';
import { forgetOldEvents } from './retention.ts';
import { eventRoutes } from './routes.ts';
import { slotsOf } from './stream.ts';

export { type EventsApi, eventsApi } from './api.ts';
export { eventId, toJson } from './record.ts';
export type { StreamEvent } from './schema.ts';

export const events = defineModule({
  name: 'events',
  description: 'Events: a live stream, and pages of past events.',
  routes: eventRoutes,
  errors: EventErrors,
  upkeep: forgetOldEvents,
  gauges: [
    {
      name: 'event_streams',
      help: 'Event streams that are open at this process.',
      read: (platform) => slotsOf(platform).size,
    },
  ],
  stop: async (platform) => slotsOf(platform).close(),
});
