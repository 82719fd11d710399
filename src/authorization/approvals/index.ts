import { defineModule } from '../../platform.ts';
import { ApprovalErrors } from './errors.ts';
import { lapseApprovals } from './lapse-approvals.ts';
import { approvalRoutes } from './routes.ts';

export { type ApprovalsApi, approvalsApi } from './api.ts';
export { notifyOfApprovals } from './notify.ts';
export { Approval } from './schema.ts';

export const approvals = defineModule({
  name: 'approvals',
  description: 'Calls to which a person has to agree.',
  routes: approvalRoutes,
  errors: ApprovalErrors,
  upkeep: lapseApprovals,
});
