import { expect, it, vi } from 'vitest';
import { OutcomeUnknown } from './peer.ts';
import { ServerAnswer } from './server-answer.ts';

it('a request that was sent is not sent again on another connection', () => {
  const failed = vi.fn();
  const answer = new ServerAnswer({ answered: () => {}, failed, finished: () => {} });
  const controllers = [0, 1].map(() => ({
    ...{ aborted: false, paused: false, reason: null, pause: () => {}, resume: () => {} },
    abort: vi.fn((error: Error) => answer.onResponseError(undefined, error)),
  }));
  for (const controller of controllers) answer.onRequestStart(controller);
  expect(controllers.map(({ abort }) => abort.mock.calls.length)).toEqual([0, 1]);
  expect(failed.mock.calls).toEqual([[expect.any(OutcomeUnknown)]]);
});
