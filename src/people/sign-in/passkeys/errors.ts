import { defineErrors } from '../../../kernel/errors.ts';

export const PasskeyErrors = defineErrors({
  INVALID_PASSKEY: [
    401,
    'This passkey is not accepted, or the request has expired or came from another browser. Try again, or sign in ' +
      'another way.',
  ],
  PASSKEY_NOT_FOUND: [404, 'Passkey not found.'],
  PASSKEY_EXISTS: [409, 'This passkey is already registered.'],
  PASSKEY_REJECTED: [
    422,
    'The passkey could not be added: its answer is not valid for this service, or the request has expired. Start ' +
      'again with POST /passkeys/register/options.',
  ],
  PASSKEY_LIMIT_EXCEEDED: [422, 'You have reached the limit of 20 passkeys. Remove one that you no longer use.'],
});
