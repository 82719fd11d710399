import { z } from 'zod';
import { nextPage } from '../../http/page.ts';
import { idParams } from '../../kernel/id-schema.ts';
import { defineRoute } from '../../platform.ts';
import { APPROVAL_PAGE, ApprovalForm, approvalForm, approvalPage } from './approval-page.ts';
import { ApprovalErrors } from './errors.ts';
import { resolveApproval } from './resolve-approval.ts';
import { Approval, ListApprovals, Resolution } from './schema.ts';
import { findApprovalPage, getApproval, toApproval } from './store.ts';

const mayRead = { resource: 'legate:approvals', action: 'read', self: true } as const;
const HTML = { mediaTypes: ['text/html'] } as const;
const { APPROVAL_NOT_FOUND, APPROVAL_NOT_PENDING } = ApprovalErrors;

const resolution = (verb: 'approve' | 'deny', status: 'approved' | 'denied', summary: string) =>
  defineRoute({
    method: 'POST',
    path: `/approvals/:id/${verb}`,
    summary,
    description: 'For the owner of the agent and for admins. Agents cannot approve.',
    access: 'user',
    params: idParams('approval'),
    body: Resolution,
    bodyOptional: true,
    responses: { 200: Approval },
    errors: [APPROVAL_NOT_FOUND, APPROVAL_NOT_PENDING],
    handle: async (call, platform) => ({
      status: 200,
      body: await resolveApproval(platform, call, call.params.id, status, call.body.note),
    }),
  });

/** Contract 6, `requireApproval`. */
export const approvalRoutes = [
  defineRoute({
    method: 'GET',
    path: '/approvals',
    summary: 'List approvals',
    description:
      'Newest first unless `sort` sets another order. A Link header with rel="next" points to the next page.',
    access: mayRead,
    query: ListApprovals,
    longPages: true,
    responses: { 200: z.array(Approval) },
    handle: async (call, platform) => {
      const { limit, cursor, sort, ...filter } = call.query;
      const now = platform.clock.now();
      const page = { sort, cursor, limit };
      const { rows, next } = await findApprovalPage(platform, call.visibility, filter, page, now);
      return { status: 200, body: rows.map((row) => toApproval(row, now)), ...nextPage(call.url, next) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/approvals/:id',
    summary: 'Get an approval',
    access: mayRead,
    params: idParams('approval'),
    responses: { 200: Approval },
    errors: [APPROVAL_NOT_FOUND],
    handle: async (call, platform) => ({
      status: 200,
      body: toApproval(
        await getApproval(platform.database.read, call.visibility, call.params.id),
        platform.clock.now(),
      ),
    }),
  }),
  resolution('approve', 'approved', 'Approve a waiting call'),
  resolution('deny', 'denied', 'Deny a waiting call'),
  defineRoute({
    method: 'GET',
    path: APPROVAL_PAGE,
    summary: 'Page of an approval',
    description: 'For the owner of the agent and for admins. Answers of guarded MCP servers link to it.',
    access: 'user',
    page: true,
    params: idParams('approval'),
    responses: { 200: HTML },
    errors: [APPROVAL_NOT_FOUND],
    handle: (call, platform) => approvalPage(platform, call),
  }),
  defineRoute({
    method: 'POST',
    path: APPROVAL_PAGE,
    summary: 'Form of the page of an approval',
    description: 'Approves or denies. 409 with the page if the approval was decided before or has expired.',
    access: 'user',
    page: true,
    params: idParams('approval'),
    body: ApprovalForm,
    form: true,
    responses: { 303: null, 409: HTML },
    errors: [APPROVAL_NOT_FOUND],
    handle: (call, platform) => approvalForm(platform, call),
  }),
];
