import { legate } from '../api.ts';
import { t } from '../texts/index.ts';
import { Action } from './dialog.tsx';

/** Revokes an agent permanently, after showing the effects. */
export const RevokeAgent = ({ id, name, done }: { id: string; name: string; done?: () => void }) => (
  <Action
    danger
    label={t.revoke}
    question={t.revokeQuestion(name)}
    typed={{ agentIds: [id], name }}
    preview={() => legate.agents.revoke(id, { preview: true })}
    run={(reason) => legate.agents.revoke(id, { reason })}
    stale={['agents', 'delegations', 'changes', 'dashboard']}
    {...(done && { done })}
  />
);
