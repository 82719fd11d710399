import { z } from 'zod';
import { idOf, idParams } from '../../kernel/id-schema.ts';
import { isoTimestamp } from '../../kernel/json.ts';

const DeviceInfo = z
  .object({
    browser: z.string(),
    os: z.string(),
    type: z.string().meta({ description: 'desktop, mobile, tablet, tv, bot or unknown.' }),
  })
  .meta({
    id: 'Device',
    description: 'Derived from the User-Agent of the sign-in; `unknown` if it is not recognised.',
  });
export type DeviceInfo = z.output<typeof DeviceInfo>;

/** Specification 2.6. */
export const Session = z
  .object({
    id: z.string(),
    current: z.boolean().meta({ description: 'True for the session that the caller used.' }),
    createdAt: isoTimestamp,
    expiresAt: isoTimestamp.meta({
      description: 'multiSession.idleTtl after the last use, at most multiSession.absoluteTtl after sign-in.',
    }),
    device: DeviceInfo.optional().meta({ description: 'Only with multiSession.trackDevice.' }),
    ipAddress: z
      .string()
      .optional()
      .meta({ description: 'Client address of the sign-in. Only with multiSession.trackIp.' }),
  })
  .meta({ id: 'Session' });
export type Session = z.output<typeof Session>;

export const SessionList = z.object({ sessions: z.array(Session) }).meta({ id: 'SessionList' });
export const Revoked = z
  .object({ revoked: z.int().meta({ description: 'Number of sessions that ended.' }) })
  .meta({ id: 'RevokedSessions' });

export const SessionId = idParams('session');
export const UserId = idParams('user');
export const UserAndSessionId = z.object({ id: idOf('user'), sid: idOf('session') });
