import { describe, expect, it } from 'vitest';
import { REDACTED, redact, redactedKeys } from './redact.ts';

describe('further keys that an operator names', () => {
  it.each(['credit card', 'Credit-Card', 'credit_card', 'creditCard'])('%s is found in any spelling', (name) => {
    const given = { 'credit card': '1', creditCard: '2', CREDIT_CARD: '3', card: '4' };
    expect(redact(given, redactedKeys([name]))).toEqual({
      'credit card': REDACTED,
      creditCard: REDACTED,
      CREDIT_CARD: REDACTED,
      card: '4',
    });
  });
});
