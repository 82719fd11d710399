import { defineErrors } from '../../kernel/errors.ts';

export const EventErrors = defineErrors({
  NOT_ACCEPTABLE: [406, 'The stream is text/event-stream, but the Accept header does not allow it.'],
});
