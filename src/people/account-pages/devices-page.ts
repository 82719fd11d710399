import { z } from 'zod';
import { asUser, type Principal } from '../../access/principal.ts';
import { LegateError } from '../../kernel/errors.ts';
import { idOf } from '../../kernel/id-schema.ts';
import { asId, type Id } from '../../kernel/ids.ts';
import {
  actions,
  button,
  card,
  form,
  formatTime,
  html,
  list,
  notice,
  page,
  pathOf,
  seeOther,
  type Texts,
  textsFor,
} from '../../pages/index.ts';
import type { Platform } from '../../platform.ts';
import {
  endCookie,
  listSessions,
  revokeSession,
  revokeSessions,
  type Session,
  SessionErrors,
} from '../sessions/index.ts';
import { deviceName } from './device-name.ts';
import { type AnyCall, findPagePerson, PATHS } from './form.ts';
import { signedOut } from './sign-in-page.ts';

/** `id` is the session to end; without it, all sessions except the current one end. */
export const EndSessionForm = z
  .strictObject({ id: idOf('session', z.string().max(200)).optional() })
  .meta({ id: 'EndSessionForm' });

const currentOf = (principal: Principal): Id<'session'> | null =>
  principal.kind === 'user' && principal.via === 'session' && principal.credentialId !== null
    ? asId('session', principal.credentialId)
    : null;

/** GET: the user's sessions, that of this browser first. */
export async function devicesPage(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'database'>,
  call: AnyCall,
): Promise<Response> {
  const t = textsFor(call.request);
  const here = pathOf(platform, PATHS.devices);
  const sessions = await listSessions(platform, asUser(call.principal).userId, currentOf(call.principal));
  sessions.sort((a, b) => Number(b.current) - Number(a.current));
  const done = { ended: t.devices.ended, others: t.devices.othersEnded }[call.url.searchParams.get('done') ?? ''];
  return page(platform, call.request, {
    title: t.devices.title,
    person: await findPagePerson(platform, call),
    inAccount: true,
    body: html`${done !== undefined && notice('good', done)}<p>${t.devices.intro}</p>
${
  sessions.length === 0
    ? html`<p>${t.devices.none}</p>`
    : list(sessions.map((session) => deviceCard(call.request, here, session)))
}
${sessions.some((s) => !s.current) && form(here, actions(button({ label: t.devices.endOthers, kind: 'danger' })))}
<p class="quiet">${t.devices.apps}</p>`,
  });
}

function deviceCard(
  request: Request,
  here: string,
  { id, current, createdAt, device, ipAddress }: Session,
): ReturnType<typeof card> {
  const t = textsFor(request);
  const what = deviceName(t, device);
  const kind = t.devices.kinds[(device?.type ?? 'unknown') as keyof Texts['devices']['kinds']] ?? '';
  return card({
    title: what,
    badge: current && t.devices.current,
    lines: [
      kind,
      html`<time datetime="${createdAt}">${t.devices.signedIn(
        formatTime(request, Date.parse(createdAt), 'minute'),
      )}</time>`,
      ipAddress !== undefined && t.devices.address(ipAddress),
    ].filter((line) => line !== '' && line !== false),
    actions: form(
      here,
      current
        ? button({ label: t.devices.endThis, kind: 'secondary' })
        : button({ label: t.devices.end, kind: 'secondary', spoken: t.devices.endSpoken(what) }),
      {
        id,
      },
    ),
  });
}

/**
 * POST: ends one session or all others. Ending the current one signs out. A session that has already ended is not an
 * error.
 */
export async function endSessionForm(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'ledger'>,
  call: AnyCall & { readonly body: z.output<typeof EndSessionForm> },
): Promise<Response> {
  const { userId } = asUser(call.principal);
  const current = currentOf(call.principal);
  const { id } = call.body;
  const { reauthorize, ip, actor } = call;
  if (id === undefined) {
    await revokeSessions(platform, userId, { reauthorize, ip, actor, reason: 'revoked', except: current });
    return seeOther(`${pathOf(platform, PATHS.devices)}?done=others`);
  }
  try {
    await revokeSession(platform, userId, id, { reauthorize, ip, actor, reason: 'revoked' });
  } catch (error) {
    if (!(error instanceof LegateError) || error.code !== SessionErrors.SESSION_NOT_FOUND.code) throw error;
  }
  return id === current
    ? signedOut(platform, endCookie(platform))
    : seeOther(`${pathOf(platform, PATHS.devices)}?done=ended`);
}
