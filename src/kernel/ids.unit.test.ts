import { describe, expect, it } from 'vitest';
import { idOf } from './id-schema.ts';
import { asId, type Id, isId, newId } from './ids.ts';

const own = (agentId: Id<'agent'>, userId: Id<'user'>): boolean => isId('agent', agentId) && isId('user', userId);

describe('an id', () => {
  it('of another kind, or a text without a kind, does not type-check', () => {
    const [agentId, userId] = [newId('agent', 0), newId('user', 0)];
    expect(own(agentId, userId)).toBe(true);
    // @ts-expect-error The two are exchanged.
    expect(own(userId, agentId)).toBe(false);
    // @ts-expect-error A text says nothing of its kind.
    expect(own(String(agentId), userId)).toBe(true);
  });

  it('gets its kind from the schema of a request, or from the function that states it', () => {
    const parsed = idOf('agent').parse('my-agent');
    expect(own(parsed, asId('user', 'user 17'))).toBe(false);
    // @ts-expect-error The schema is that of agents.
    expect(own(asId('agent', 'x'), parsed)).toBe(false);
  });

  it('gets its kind after its form was checked', () => {
    const text: string = newId('agent', 0);
    expect(isId('agent', text) && own(text, newId('user', 0))).toBe(true);
    // @ts-expect-error Its form is that of a user.
    expect(isId('user', text) && own(text, newId('user', 0))).toBe(false);
  });
});
