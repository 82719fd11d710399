import { expect, it } from 'vitest';
import { nextStep } from './keys-rotate.ts';

it('mentions LEGATE_SECRET_PREVIOUS only if it is set', () => {
  expect(nextStep({})).toMatch(/^Restart the service/);
  expect(nextStep({ secret: 'new' })).toBe('Every instance uses them within about a minute.');
  expect(nextStep({ secret: 'new', secretPrevious: 'old' })).toMatch(/LEGATE_SECRET_PREVIOUS is no longer needed/);
});
