import { z } from 'zod';
import { isoTimestamp } from '../../kernel/json.ts';

const DeviceInfo = z
  .object({
    browser: z.string(),
    os: z.string(),
    type: z.string().meta({ description: 'desktop, mobile, tablet, tv, bot or unknown.' }),
  })
  .meta({ id: 'Device', description: 'From the User-Agent of the sign-in; `unknown` where that does not say.' });
export type DeviceInfo = z.output<typeof DeviceInfo>;

/** Specification 2.6. */
export const Session = z
  .object({
    id: z.string(),
    current: z.boolean().meta({ description: 'True for the session of this call.' }),
    createdAt: isoTimestamp,
    expiresAt: isoTimestamp.meta({
      description: 'Moves with use, multiSession.idleTtl ahead, until multiSession.absoluteTtl after sign-in.',
    }),
    device: DeviceInfo.optional().meta({ description: 'Only with multiSession.trackDevice.' }),
    ipAddress: z.string().optional().meta({ description: 'Of the sign-in; only with multiSession.trackIp.' }),
  })
  .meta({ id: 'Session' });
export type Session = z.output<typeof Session>;

export const SessionList = z.object({ sessions: z.array(Session) }).meta({ id: 'SessionList' });
export const Revoked = z
  .object({ revoked: z.int().meta({ description: 'How many sessions ended.' }) })
  .meta({ id: 'RevokedSessions' });

export const SessionId = z.object({ id: z.string() });
export const UserId = z.object({ id: z.string() });
export const UserAndSessionId = z.object({ id: z.string(), sid: z.string() });
