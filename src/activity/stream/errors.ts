import { defineErrors } from '../../kernel/errors.ts';

export const EventErrors = defineErrors({
  EVENT_NOT_FOUND: [404, 'Event not found.'],
  NOT_ACCEPTABLE: [406, 'The stream is text/event-stream, but the Accept header does not allow it.'],
});
