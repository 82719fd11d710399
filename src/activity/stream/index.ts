import { defineModule } from '../../platform.ts';
import { EventErrors } from './errors.ts';
import { forgetOldEvents } from './retention.ts';
import { eventRoutes } from './routes.ts';
import { closeStreams, streamsOf } from './stream.ts';

export { type EventsApi, eventsApi } from './api.ts';
export { eventId, toJson } from './record.ts';
export type { StreamEvent } from './schema.ts';

export const events = defineModule({
  name: 'events',
  description: 'What happens, as it happens: a stream to follow, and pages to look back.',
  routes: eventRoutes,
  errors: EventErrors,
  upkeep: forgetOldEvents,
  gauges: [
    {
      name: 'event_streams',
      help: 'Event streams that are open at this process.',
      read: (platform) => streamsOf(platform).taken,
    },
  ],
  stop: async (platform) => closeStreams(platform),
});
