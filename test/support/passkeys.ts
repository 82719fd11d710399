import { expect } from 'vitest';
import type { EventType } from '../../src/ledger/event-types.ts';
import { Authenticator, addPasskey, type Deviation, newSession } from './authenticator.ts';
import type { Mailbox } from './mailbox.ts';
import type { Person } from './people.ts';
import type { Json, TestService } from './service.ts';

/** Returns a person with a session but without a password, because hashing one takes time. */
export async function someone({ t, box }: { t: TestService; box: Mailbox }): Promise<Person> {
  const { id, email } = await t.user();
  return { t, box, id, email, session: await newSession(t, id) };
}

/** Adds a passkey to a person. */
export async function withPasskey(
  p: Person,
  deviation: Deviation = {},
): Promise<Person & { device: Authenticator; passkeyId: string }> {
  const device = new Authenticator();
  const { status, body } = await addPasskey(p.t, p.session, device, deviation);
  expect(status).toBe(201);
  return { ...p, device, passkeyId: body.id };
}

/** Returns the actor of the newest event of a type about a person. */
export async function actorOf({ t, id }: Person, type: EventType): Promise<Json> {
  const { read } = t.legate.platform.database;
  const row = await read
    .selectFrom('stream_events')
    .select('change')
    .where('type', '=', type)
    .where('user_id', '=', id)
    .orderBy('seq', 'desc')
    .executeTakeFirst();
  return JSON.parse(row?.change ?? '{}').actor;
}

/** Returns status and error code of a response. */
export const codeOf = (r: { status: number; body: Json }): [number, string] => [r.status, r.body?.error?.code];
