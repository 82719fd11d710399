import { defineErrors } from '../../../kernel/errors.ts';

export const ConnectionErrors = defineErrors({
  CONNECTION_NOT_FOUND: [404, 'There is no connection to a server with this name, and none is needed.'],
});
