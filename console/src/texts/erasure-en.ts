import { enNumber } from './numbers.ts';

/** Texts about the erasure of personal data, in English. */
export const erasureEn = {
  erase: 'Erase',
  eraseEntryQuestion: 'Erase parameters, address and user agent of this decision?',
  eraseEntryText:
    'This cannot be undone. Agent, action, result and time remain and can still be proven. Backups, exports and ' +
    'proofs that were handed out are not erased.',
  erasePerson: 'Erase person',
  erasePersonQuestion: (name: string) => `Delete ${name} and erase their personal data from the ledger?`,
  erasePersonText:
    'The account is deleted and the agents are revoked. The ledger erases parameters, addresses and user agents of ' +
    'their decisions, and all events about the person. This cannot be undone. Backups, exports and proofs that were ' +
    'handed out are not erased.',
  willErase: (n: number) =>
    n === 1
      ? 'Parameters, address and user agent of 1 decision will be erased.'
      : `Parameters, addresses and user agents of ${enNumber(n)} decisions will be erased.`,
  erased: 'Erased',
  erasedEntry:
    'Parameters, address and user agent of this decision were erased. Agent, action, result and time can still be ' +
    'proven.',
  erasedOnPage: (n: number) =>
    n === 1
      ? 'Parameters, address and user agent of 1 decision on this page were erased.'
      : `Parameters, addresses and user agents of ${n} decisions on this page were erased.`,
};
export type ErasureTexts = typeof erasureEn;
