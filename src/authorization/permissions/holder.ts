import type { AgentRow } from '../../storage/index.ts';
import type { AgentState } from '../agents/agent-state.ts';
import { type CompiledEntry, linkOf, type Received } from './compile.ts';
import type { Permission } from './schema.ts';
import { storedPermissions } from './stored-permissions.ts';

/** The permissions of an agent, without the parts that only decisions need: index, counters, compiled conditions. */
export interface Holder extends AgentState, Pick<AgentRow, 'owner_suspended'> {
  readonly entries: readonly Pick<CompiledEntry, 'permission' | 'link'>[];
}

type HolderRow = AgentState & Pick<AgentRow, 'owner_suspended' | 'permissions'>;

/** Creates holders from rows. Equal lists of permissions are parsed once. */
export class Holders {
  readonly #parsed = new Map<string, readonly Permission[]>();

  /** @param inbound active delegations to the agent, in order of creation */
  of(row: HolderRow, inbound: readonly Received[] = []): Holder {
    const entries: Holder['entries'][number][] = [];
    for (const permission of this.#parse(row.permissions)) entries.push({ permission, link: undefined });
    for (const received of inbound) {
      const link = linkOf(received);
      for (const permission of this.#parse(received.permissions)) entries.push({ permission, link });
    }
    const { revoked_at, expires_at, owner_suspended } = row;
    return { revoked_at, expires_at, owner_suspended, entries };
  }

  #parse(text: string): readonly Permission[] {
    let list = this.#parsed.get(text);
    if (!list) {
      list = storedPermissions({ permissions: text });
      this.#parsed.set(text, list);
    }
    return list;
  }
}
