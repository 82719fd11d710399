import { isDeepStrictEqual } from 'node:util';
import { UsageError } from '../command.ts';
import type { Seed, SeedAgent, SeedDelegation } from './file.ts';

/** The target of seeding: a service over HTTP or in this process. */
export interface SeedTarget {
  /** Returns id and name of an owner, or of the default owner if no address or id is given. Throws UsageError. */
  owner(named: string | undefined): Promise<{ readonly id: string; readonly name: string }>;
  /** The active agents of an owner. */
  agents(ownerId: string): Promise<readonly KnownAgent[]>;
  /** The active delegations that an agent has made. */
  delegations(fromAgent: string): Promise<readonly KnownDelegation[]>;
  readonly api: {
    readonly agents: {
      create(agent: object): Promise<{ readonly id: string; readonly token: string }>;
      update(id: string, change: object): Promise<unknown>;
      revoke(id: string): Promise<unknown>;
    };
    readonly delegations: {
      create(delegation: object): Promise<{ readonly id: string }>;
      revoke(id: string): Promise<unknown>;
    };
  };
}

interface KnownAgent {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly permissions: readonly unknown[];
  readonly expiresAt: string | null;
}
interface KnownDelegation {
  readonly toAgent: string;
  readonly permissions: readonly unknown[];
}

export interface PlannedAgent {
  readonly agent: SeedAgent;
  readonly ownerId: string;
  readonly ownerName: string;
  /** undefined: the agent is created. */
  readonly known: KnownAgent | undefined;
  /** The change of an existing agent; undefined if it does not change. */
  readonly change: { permissions?: object; expiresAt?: string } | undefined;
}
export interface PlannedDelegation {
  readonly delegation: SeedDelegation;
  readonly exists: boolean;
}
export interface Plan {
  readonly agents: readonly PlannedAgent[];
  /** Delegations on which others are based come first. */
  readonly delegations: readonly PlannedDelegation[];
}

/** Compares the file with the existing agents and delegations. Writes nothing. Throws UsageError. */
export async function planSeed(seed: Seed, target: SeedTarget): Promise<Plan> {
  const agents: PlannedAgent[] = [];
  for (const agent of seed.agents) {
    const { id: ownerId, name: ownerName } = await target.owner(agent.owner);
    if (agents.some((other) => other.agent.name === agent.name && other.ownerId === ownerId))
      throw new UsageError(`${ownerName} has two agents named ${agent.name} in this file.`);
    const found = (await target.agents(ownerId)).filter(({ name }) => name === agent.name);
    if (found.length > 1) throw new UsageError(`${ownerName} has ${found.length} active agents named ${agent.name}.`);
    const [known] = found;
    if (known && known.type !== agent.type)
      throw new UsageError(`${agent.name} is ${known.type}, and the type of an agent cannot be changed.`);
    agents.push({ agent, ownerId, ownerName, known, change: known && changeOf(known, agent) });
  }
  const idOf = (name: string): string | undefined => agents.find((planned) => planned.agent.name === name)?.known?.id;
  const delegations: PlannedDelegation[] = [];
  for (const delegation of inOrder(seed.delegations)) {
    const [from, to] = [idOf(delegation.from), idOf(delegation.to)];
    const made = from === undefined ? [] : (await target.delegations(from)).filter(({ toAgent }) => toAgent === to);
    const exists = made.some(({ permissions }) => samePermissions(permissions, delegation.permissions));
    if (made.length > 0 && !exists)
      throw new UsageError(
        `${delegation.from} -> ${delegation.to} exists with other permissions, and a delegation cannot be changed. ` +
          'Revoke it first.',
      );
    delegations.push({ delegation, exists });
  }
  return { agents, delegations };
}

function changeOf(known: KnownAgent, agent: SeedAgent): PlannedAgent['change'] {
  const change = {
    ...(samePermissions(known.permissions, agent.permissions) ? {} : { permissions: agent.permissions }),
    ...(agent.expiresAt === undefined || agent.expiresAt === known.expiresAt ? {} : { expiresAt: agent.expiresAt }),
  };
  return Object.keys(change).length === 0 ? undefined : change;
}

const samePermissions = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  isDeepStrictEqual(JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b)));

/** Puts a delegation after the delegations to its source agent. */
function inOrder(delegations: readonly SeedDelegation[]): SeedDelegation[] {
  const left = [...delegations];
  const ordered: SeedDelegation[] = [];
  while (left.length > 0) {
    const ready = left.findIndex(({ from }) => !left.some(({ to }) => to === from));
    // The service refuses a circle.
    ordered.push(...left.splice(Math.max(ready, 0), 1));
  }
  return ordered;
}

const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;

/** Renders a plan, one line for each agent and delegation, and a summary. */
export function renderPlan({ agents, delegations }: Plan): string {
  const lines = [
    ...agents.map(({ agent, ownerName, known, change }) => {
      const sign = !known ? '+' : change ? '~' : '=';
      const has = count(agent.permissions.length, 'permission');
      const before = change?.permissions ? ` instead of ${known?.permissions.length}` : '';
      return `${sign} agent ${agent.name} of ${ownerName}: ${has}${before}`;
    }),
    ...delegations.map(
      ({ delegation, exists }) =>
        `${exists ? '=' : '+'} delegation ${delegation.from} -> ${delegation.to}: ` +
        count(delegation.permissions.length, 'permission'),
    ),
  ];
  const created = agents.filter(({ known }) => !known).length;
  const changed = agents.filter(({ change }) => change).length;
  const made = delegations.filter(({ exists }) => !exists).length;
  const same = agents.length - created - changed + delegations.length - made;
  lines.push(
    '',
    `${count(created, 'agent')} to create, ${changed} to change, ${count(made, 'delegation')} to create, ` +
      `${same} unchanged.`,
  );
  return lines.join('\n');
}

export interface SeededToken {
  readonly name: string;
  readonly owner: string;
  readonly id: string;
  readonly token: string;
}

/** Carries out a plan and returns the tokens of new agents. If a step fails, reverses the steps before it. */
export async function applyPlan({ agents, delegations }: Plan, { api }: SeedTarget): Promise<SeededToken[]> {
  const undo: (() => Promise<unknown>)[] = [];
  const ids = new Map<string, string>();
  const tokens: SeededToken[] = [];
  let step = '';
  try {
    for (const { agent, ownerId, ownerName, known, change } of agents) {
      step = `agent ${agent.name}`;
      const { name, type, permissions, expiresAt } = agent;
      if (!known) {
        const made = await api.agents.create({ ownerId, name, type, permissions, ...(expiresAt && { expiresAt }) });
        undo.push(() => api.agents.revoke(made.id));
        ids.set(name, made.id);
        tokens.push({ name, owner: ownerName, id: made.id, token: made.token });
        continue;
      }
      ids.set(name, known.id);
      if (!change) continue;
      await api.agents.update(known.id, change);
      undo.push(() =>
        api.agents.update(known.id, {
          ...(change.permissions && { permissions: known.permissions }),
          ...(change.expiresAt && { expiresAt: known.expiresAt }),
        }),
      );
    }
    for (const { delegation, exists } of delegations) {
      const { from, to, permissions, expiresAt, maxDepth } = delegation;
      step = `delegation ${from} -> ${to}`;
      if (exists) continue;
      const made = await api.delegations.create({
        fromAgent: ids.get(from),
        toAgent: ids.get(to),
        permissions,
        ...(expiresAt && { expiresAt }),
        ...(maxDepth && { maxDepth }),
      });
      undo.push(() => api.delegations.revoke(made.id));
    }
    return tokens;
  } catch (error) {
    const left: string[] = [];
    for (const back of undo.reverse()) await back().catch((failure) => left.push(messageOf(failure)));
    throw new UsageError(
      `${step}: ${messageOf(error)}\n${
        left.length === 0 ? 'All earlier steps were reversed.' : `Some steps could not be reversed: ${left.join('; ')}`
      }`,
    );
  }
}

function messageOf(error: unknown): string {
  const { code, message } = error as { code?: string; message: string };
  return code === undefined ? message : `${code}: ${message}`;
}
