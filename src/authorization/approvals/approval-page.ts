import { z } from 'zod';
import { LegateError } from '../../kernel/errors.ts';
import { asId, type Id } from '../../kernel/ids.ts';
import { text } from '../../kernel/json.ts';
import { visible, visibleJson } from '../../kernel/visible-text.ts';
import {
  actions,
  button,
  errorSummary,
  facts,
  field,
  form,
  html,
  notice,
  page,
  pathOf,
  type Site,
  seeOther,
  type Texts,
  textsFor,
} from '../../pages/index.ts';
import type { Call, Platform } from '../../platform.ts';
import type { Db } from '../../storage/index.ts';
import { ApprovalErrors } from './errors.ts';
import { resolveApproval } from './resolve-approval.ts';
import { type Approval, MAX_NOTE } from './schema.ts';
import { getApproval, toApproval } from './store.ts';

export const APPROVAL_PAGE = '/account/approvals/:id';

/** An empty `note` is none. */
export const ApprovalForm = z
  .object({ decision: z.enum(['approve', 'deny']), note: text(MAX_NOTE, 0).optional() })
  .meta({ id: 'ApprovalForm' });

/** Returns the public address of the page of an approval. */
export const approvalLink = (site: Site, id: string): string =>
  new URL(pathOf(site, APPROVAL_PAGE.replace(':id', encodeURIComponent(id))), site.baseUrl).href;

type PageCall = Call<{ id: Id<'approval'> }, unknown, unknown>;

/** GET: shows the call that needs or needed approval, with all its arguments (contract 19). */
export async function approvalPage(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'database'>,
  call: PageCall,
): Promise<Response> {
  const row = await getApproval(platform.database.read, call.visibility, call.params.id);
  return show(platform, call, toApproval(row, platform.clock.now()));
}

/** POST: approves or denies the call. If it has already been decided, shows that decision with 409. */
export async function approvalForm(
  platform: Pick<Platform, 'baseUrl' | 'clock' | 'config' | 'database' | 'ledger' | 'redactedKeys'>,
  call: PageCall & { readonly body: z.output<typeof ApprovalForm> },
): Promise<Response> {
  const { id } = call.params;
  const status = call.body.decision === 'approve' ? 'approved' : 'denied';
  try {
    await resolveApproval(platform, call, id, status, call.body.note?.trim() || undefined);
  } catch (error) {
    if (!(error instanceof LegateError) || error.code !== ApprovalErrors.APPROVAL_NOT_PENDING.code) throw error;
    const row = await getApproval(platform.database.read, call.visibility, id);
    return show(platform, call, toApproval(row, platform.clock.now()), 409);
  }
  return seeOther(addressOf(platform, id));
}

const addressOf = (site: Site, id: string): string =>
  pathOf(site, APPROVAL_PAGE.replace(':id', encodeURIComponent(id)));

async function show(
  platform: Pick<Platform, 'baseUrl' | 'config' | 'database'>,
  call: PageCall,
  approval: Approval,
  status = 200,
): Promise<Response> {
  const t = textsFor(call.request);
  const agent = await platform.database.read
    .selectFrom('agents')
    .leftJoin('users', 'users.id', 'agents.owner_id')
    .select(['agents.name', 'users.name as owner', 'users.email'])
    .where('agents.id', '=', asId('agent', approval.agentId))
    .executeTakeFirst();
  const owner = agent?.owner ?? agent?.email;
  const resolver = await findResolver(platform.database.read, approval);
  const waits = approval.status === 'pending';
  const intro = waits
    ? html`<p>${t.approval.intro}</p>`
    : notice(approval.status === 'approved' ? 'good' : 'info', t.approval.outcomes[approval.status]);
  return page(platform, call.request, {
    title: waits ? t.approval.title : t.approval.decidedTitle,
    status,
    failed: status !== 200,
    wide: true,
    body: html`${status !== 200 && errorSummary(t, [{ message: t.approval.tooLate }])}${intro}
${facts([
  [t.approval.agent, agent ? `${visible(agent.name)} (${approval.agentId})` : approval.agentId],
  ...(owner ? [[t.approval.owner, visible(owner)] as const] : []),
  [t.approval.action, visible(approval.action)],
  [t.approval.resource, visible(approval.resource)],
  [t.approval.requested, moment(t, approval.createdAt)],
  ...(waits || approval.status === 'approved'
    ? [[t.approval.expires, moment(t, approval.expiresAt)] as const]
    : approval.resolvedAt === null
      ? []
      : [[t.approval.decided, moment(t, approval.resolvedAt)] as const]),
  ...(resolver ? [[t.approval.decidedBy, visible(resolver)] as const] : []),
  ...(approval.note === null ? [] : [[t.approval.note, visible(approval.note)] as const]),
])}
<h2>${t.approval.arguments}</h2>${argumentsOf(t, approval.arguments)}
${
  waits &&
  form(
    addressOf(platform, approval.id),
    // Enter in the field would press the first button that is not disabled, which decides.
    html`<button type="submit" disabled hidden></button>${field(t, {
      name: 'note',
      label: t.approval.note,
      hint: t.approval.noteHint,
      required: false,
      maxlength: MAX_NOTE,
    })}${actions(
      button({ label: t.approval.deny, kind: 'secondary', name: 'decision', value: 'deny' }),
      button({ label: t.approval.approve, kind: 'secondary', name: 'decision', value: 'approve' }),
    )}`,
  )
}`,
  });
}

/** Returns the name of the person who decided. */
async function findResolver(db: Db, { resolvedBy }: Approval): Promise<string | undefined> {
  if (resolvedBy === null) return undefined;
  const person = await db
    .selectFrom('users')
    .select(['name', 'email'])
    .where('id', '=', asId('user', resolvedBy))
    .executeTakeFirst();
  return person?.name ?? person?.email ?? resolvedBy;
}

/**
 * Shows all arguments as JSON, because the person approves exactly these: 10 differs from "10", and a line break from a
 * space.
 */
const argumentsOf = (t: Texts, args: Readonly<Record<string, unknown>>): ReturnType<typeof html> =>
  Object.keys(args).length === 0
    ? html`<p>${t.approval.noArguments}</p>`
    : facts(
        Object.entries(args).map(([name, value]) => [
          visible(name),
          html`<code class="exact">${visibleJson(value)}</code>`,
        ]),
      );

const moment = (t: Texts, iso: string): ReturnType<typeof html> => {
  const format = new Intl.DateTimeFormat(t.code, { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' });
  return html`<time datetime="${iso}">${format.format(new Date(iso))} UTC</time>`;
};
