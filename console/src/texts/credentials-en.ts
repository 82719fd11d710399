/** Texts of sign-ins and of the keys of agents, in English. */
export const credentialsEn = {
  signInAgain: 'Sign in again',
  endSession: 'End session',
  endSessionQuestion: (device: string) => `End the session ${device}?`,
  endSessionText: 'This browser must sign in again.',
  thisSession: 'This browser',
  resetSecondFactor: 'Reset second factor',
  resetSecondFactorQuestion: (name: string) => `Reset the second factor of ${name}?`,
  resetSecondFactorText:
    'For somebody who has lost the app and the backup codes. Both stop working, and all passkeys are removed. The ' +
    'password stays.',
  keysText:
    'With a key of its own, the agent gets access tokens by signing a request instead of sending its token ' +
    '(private_key_jwt). Only the public part is stored here.',
  noKeys: 'The agent has no key. It authenticates with its token.',
  keysAt: 'Fetched from',
  changedLast: 'Last change:',
  keyId: 'Key ID',
  keyKind: 'Kind',
  makeKey: 'Create key',
  makeKeyQuestion: (name: string) => `Create a key for ${name}?`,
  makeKeyText:
    'Your browser makes the key. The private part is shown once and is never sent. Keys that the agent has stay valid.',
  keysFromAddress: 'The keys of the agent are now fetched from an address, to which no key can be added here.',
  setKeys: 'Set keys',
  keysAs: 'Keys are',
  keysAsChoices: { set: 'Entered here', address: 'Fetched from an address' },
  jwks: 'Public keys as a JWK set',
  jwksHint: 'Such as {"keys": [{"kty": "EC", ...}]}, without private members.',
  jwksUri: 'Address of a JWK set',
  setKeysHint: 'They replace the current ones. Access tokens that the agent got for itself end immediately.',
  endKey: 'Remove key',
  endKeyQuestion: (kid: string) => `Remove the key ${kid}?`,
  endKeys: 'Remove all keys',
  endKeysQuestion: (name: string) => `Remove all keys of ${name}?`,
  endKeysText: 'Access tokens that the agent got for itself end immediately.',
};
