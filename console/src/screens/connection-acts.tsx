import { useNavigate } from '@tanstack/react-router';
import { legate } from '../api.ts';
import { Action } from '../parts/dialog.tsx';
import { t } from '../texts/index.ts';

/** Returns a function that goes to the list, for buttons that delete the object of the screen. */
function useLeave(away: boolean | undefined, list: string): () => void {
  const navigate = useNavigate();
  return () => {
    if (away) void navigate({ to: list as never });
  };
}

interface OnScreen {
  /** Whether the button is on the screen of this object. */
  readonly own?: boolean;
}

export const RemoveServer = ({ server: { id, name }, own }: { server: { id: string; name: string } } & OnScreen) => (
  <Action
    danger
    label={t.remove}
    question={t.removeQuestion(name)}
    preview={() => legate.mcp.servers.delete(id, { preview: true })}
    run={(reason) => legate.mcp.servers.delete(id, { reason })}
    done={useLeave(own, '/connections/servers')}
    stale={['servers', 'changes']}
  />
);

export const RemoveClient = ({ id, name, own }: { id: string; name: string } & OnScreen) => (
  <Action
    danger
    label={t.remove}
    question={t.removeQuestion(name)}
    preview={() => legate.oauth.clients.delete(id, { preview: true })}
    run={(reason) => legate.oauth.clients.delete(id, { reason })}
    done={useLeave(own, '/connections/clients')}
    stale={['clients', 'grants', 'changes']}
  />
);

export const EndGrant = ({
  grant: { id, clientName, clientId },
  own,
}: { grant: { id: string; clientName: string | null; clientId: string } } & OnScreen) => (
  <Action
    danger
    label={t.endGrant}
    question={t.endGrantQuestion(clientName ?? clientId)}
    preview={() => legate.oauth.grants.revoke(id, { preview: true })}
    run={(reason) => legate.oauth.grants.revoke(id, { reason })}
    done={useLeave(own, '/connections/grants')}
    stale={['grants', 'changes']}
  />
);
