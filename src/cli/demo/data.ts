import type { Seed, SeedAgent, SeedPermissions } from '../seed/file.ts';

export const TENANTS = ['Support', 'Platform', 'Finance'] as const;

/** People of the demo. They have no password; the administrator signs in by the link that the command prints. */
export const PEOPLE = [
  { email: 'ada@example.com', name: 'Ada Admin', role: 'admin', tenant: undefined },
  { email: 'olga@example.com', name: 'Olga Auditor', role: 'auditor', tenant: undefined },
  { email: 'sam@example.com', name: 'Sam Support', role: 'user', tenant: 'Support' },
  { email: 'pia@example.com', name: 'Pia Platform', role: 'user', tenant: 'Platform' },
  { email: 'finn@example.com', name: 'Finn Finance', role: 'user', tenant: 'Finance' },
] as const;

const may = (resource: string, actions: string, constraints?: SeedPermissions[number]['constraints']) => ({
  resource,
  actions: actions.split(' '),
  ...(constraints && { constraints }),
});

type Kind = SeedAgent['type'];
const agent = (owner: string, name: string, type: Kind, ...permissions: SeedPermissions): SeedAgent => ({
  name,
  type,
  owner: `${owner}@example.com`,
  permissions,
  expiresAt: undefined,
});

/** 24 agents by function, and delegations of up to three steps. */
export const SEED: Seed = {
  agents: [
    agent('sam', 'inbox-triage', 'autonomous', may('mcp:mail:*', 'read label'), may('mcp:crm:tickets:*', 'read write')),
    agent('sam', 'ticket-summariser', 'service', may('mcp:crm:tickets:*', 'read')),
    agent(
      'sam',
      'refund-desk',
      'autonomous',
      may('mcp:crm:orders:*', 'read'),
      may('mcp:billing:refunds:*', 'create', { requireApproval: true }),
    ),
    agent('sam', 'reply-drafter', 'delegated'),
    agent('sam', 'translator', 'service', may('mcp:translate:*', 'execute')),
    agent('sam', 'sentiment-watch', 'service', may('mcp:crm:tickets:*', 'read')),
    agent('sam', 'knowledge-search', 'service', may('mcp:wiki:*', 'read')),
    agent('sam', 'call-notes', 'service', may('mcp:phone:recordings:*', 'read')),
    agent(
      'pia',
      'release-manager',
      'autonomous',
      may('mcp:github:*', 'read write'),
      may('mcp:deploy:staging:*', 'execute'),
      may('mcp:deploy:production:*', 'execute', { requireApproval: true }),
    ),
    agent('pia', 'code-reviewer', 'delegated'),
    agent('pia', 'test-runner', 'delegated'),
    agent('pia', 'log-reader', 'delegated'),
    agent('pia', 'dependency-bot', 'autonomous', may('mcp:github:pulls:*', 'read write', { maxCallsPerHour: 200 })),
    agent('pia', 'incident-scribe', 'service', may('mcp:pager:*', 'read'), may('mcp:wiki:incidents:*', 'read write')),
    agent('pia', 'cost-watch', 'service', may('mcp:cloud:costs:*', 'read')),
    agent('pia', 'docs-writer', 'autonomous', may('mcp:wiki:*', 'read write')),
    agent('pia', 'scraper', 'autonomous', may('mcp:web:*', 'read', { maxCallsPerHour: 400 })),
    agent('pia', 'backup-check', 'service', may('mcp:storage:backups:*', 'read')),
    agent('finn', 'invoice-reader', 'service', may('mcp:mail:invoices:*', 'read'), may('mcp:ledger:entries:*', 'read')),
    agent(
      'finn',
      'payment-runner',
      'autonomous',
      may('mcp:bank:payments:*', 'create', { requireApproval: true }),
      may('mcp:bank:accounts:*', 'read'),
    ),
    agent('finn', 'reconciler', 'delegated'),
    agent('finn', 'forecast', 'service', may('mcp:ledger:*', 'read')),
    agent('finn', 'expense-check', 'autonomous', may('mcp:expenses:*', 'read comment')),
    agent(
      'finn',
      'tax-archive',
      'service',
      may('mcp:storage:tax:*', 'read', { timeWindow: { start: '06:00', end: '20:00' } }),
    ),
  ],
  delegations: [
    hands('release-manager', 'code-reviewer', may('mcp:github:*', 'read')),
    hands('code-reviewer', 'test-runner', may('mcp:github:pulls:*', 'read')),
    hands('test-runner', 'log-reader', may('mcp:github:pulls:logs', 'read')),
    hands('inbox-triage', 'reply-drafter', may('mcp:crm:tickets:*', 'read')),
    hands('invoice-reader', 'reconciler', may('mcp:ledger:entries:*', 'read')),
  ],
};

/** The agents of {@link SEED}, and copies of those with permissions up to the given number. */
export function agentsOf(count: number): readonly SeedAgent[] {
  const able = SEED.agents.filter(({ permissions }) => permissions.length > 0);
  const copies = Array.from({ length: Math.max(0, count - SEED.agents.length) }, (_, i) => {
    const of = able[i % able.length] as SeedAgent;
    return { ...of, name: `${of.name}-${2 + Math.floor(i / able.length)}` };
  });
  return [...SEED.agents, ...copies];
}

function hands(from: string, to: string, ...permissions: SeedPermissions) {
  return { from, to, permissions, expiresAt: undefined, maxDepth: undefined };
}

export interface DemoCall {
  readonly agent: string;
  readonly action: string;
  readonly resource: string;
  readonly arguments: Record<string, unknown>;
}

/** Returns numbers from 0 to 1, always the same for one seed (mulberry32). */
export function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const REACHES: Readonly<Record<string, string>> = {
  'reply-drafter': 'mcp:crm:tickets',
  'code-reviewer': 'mcp:github:pulls',
  'test-runner': 'mcp:github:pulls',
  'log-reader': 'mcp:github:pulls:logs',
  reconciler: 'mcp:ledger:entries',
};

/** Chooses the next everyday call: mostly a permitted one, sometimes one beyond the agent's permissions. */
export function everydayCall(random: () => number, agents: readonly SeedAgent[] = SEED.agents): DemoCall {
  // Some agents work much more than others.
  const { name, permissions } = agents[Math.floor(random() ** 1.7 * agents.length)] as SeedAgent;
  const everyday = permissions.filter(({ constraints }) => !constraints?.requireApproval);
  const entry = everyday[Math.floor(random() * everyday.length)];
  const base = entry?.resource.replace(/:\*$/, '') ?? REACHES[name] ?? 'mcp:wiki';
  const number = 1 + Math.floor(random() * 400);
  const strays = random() < 0.06;
  const action = strays ? 'delete' : (entry?.actions[Math.floor(random() * entry.actions.length)] ?? 'read');
  const resource = base.endsWith('logs') ? base : `${base}:${number}`;
  return { agent: name, action, resource, arguments: { id: number } };
}
