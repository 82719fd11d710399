import { describe, expect, it } from 'vitest';
import { type Id, isId, newId } from './ids.ts';

const own = (agentId: Id<'agent'>, userId: Id<'user'>): boolean => isId('agent', agentId) && isId('user', userId);

describe('an id', () => {
  it('of another kind does not type-check', () => {
    const [agentId, userId] = [newId('agent', 0), newId('user', 0)];
    expect(own(agentId, userId)).toBe(true);
    // @ts-expect-error The two are exchanged.
    expect(own(userId, agentId)).toBe(false);
  });

  it('may be any text, since applications have ids of their own', () => {
    expect(own('my-agent', 'user 17')).toBe(false);
  });
});
