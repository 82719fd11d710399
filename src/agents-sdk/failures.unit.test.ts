import { expect, it, vi } from 'vitest';
import { type GuardOptions, guardFor } from './index.ts';

const refused = Object.assign(new Error('A valid credential is required.'), { code: 'UNAUTHORIZED' });

/** A guarded tool of a service that refuses the credential. */
function toolOf(options: Partial<GuardOptions> = {}) {
  const legate = { authorize: () => Promise.reject(refused), approvals: { get: () => Promise.reject(refused) } };
  const guard = guardFor(legate, { agent: 'agt_1', app: 'notes', ...options });
  return guard.tools({ readNote: { execute: async (_input: unknown): Promise<unknown> => 'ran' } }).readNote;
}

it('a call that cannot be decided is denied, and the process warns with the cause, once for many calls', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  const tool = toolOf();
  for (let i = 0; i < 2; i++)
    expect(await tool.execute({})).toMatchObject({ denied: true, reason: 'LEGATE_UNAVAILABLE' });
  const text = 'a call could not be decided and was denied. UNAUTHORIZED: A valid credential is required.';
  expect(warn.mock.calls).toEqual([[`legate/agents: ${text}`, 'LegateWarning']]);
  warn.mockRestore();
});

it('onError gets each error, also one of the function that names the agent, and cannot change the denial', async () => {
  const missing = new Error('no session');
  const errors: unknown[] = [];
  const onError = (error: unknown): void => {
    errors.push(error);
    throw new Error('of the application');
  };
  expect(await toolOf({ onError }).execute({})).toMatchObject({ reason: 'LEGATE_UNAVAILABLE' });
  const agent = (): Promise<string> => Promise.reject(missing);
  expect(await toolOf({ onError, agent }).execute({})).toMatchObject({ reason: 'LEGATE_UNAVAILABLE' });
  expect(errors).toEqual([refused, missing]);
});

it.each(['agent', 'app'])('a guard without %s, such as a variable that is not set, is an error at once', (name) => {
  for (const value of [undefined, '']) expect(() => toolOf({ [name]: value })).toThrow(`guardFor: ${name} is missing.`);
});
