import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SYSTEM } from '../../access/actor.ts';
import { LegateClient } from '../../client/index.ts';
import { HOUR_MS } from '../../kernel/clock.ts';
import type { Id } from '../../kernel/ids.ts';
import { createRequestedLink, getUserRow, insertUser } from '../../people/users/index.ts';
import type { Log } from '../../platform.ts';
import { createLegate, type Legate } from '../../service.ts';
import { freePort, listenOn } from '../listen.ts';
import { applyPlan, planSeed, type SeededToken } from '../seed/plan.ts';
import { localTarget } from '../seed/targets.ts';
import { type LetIn, letIn } from './consent.ts';
import { agentsOf, PEOPLE, SEED, TENANTS } from './data.ts';
import { DemoClock, makeHistory } from './history.ts';
import { type DemoServers, startServers } from './servers.ts';

const HOST = '127.0.0.1';

export interface DemoOptions {
  /** From {@link newDemoFolder}. Deleted when the demo closes, or if it cannot start. */
  readonly folder: string;
  /** Decisions of the last 30 days. */
  readonly rows: number;
  /** Number of agents from the seed; at least 24. */
  readonly agents: number;
  /** 0: any free port. */
  readonly port: number;
  readonly log: Log;
}

export interface Demo {
  readonly legate: Legate;
  readonly url: string;
  /** Signs in the administrator, once, within an hour. */
  readonly signInUrl: string;
  /** A client of the administrator, and one of each agent with its own token. */
  readonly admin: LegateClient;
  readonly agents: ReadonlyMap<string, { readonly id: string; readonly client: LegateClient }>;
  readonly receiver: Receiver;
  readonly servers: DemoServers;
  /** The application that Sam lets read the wiki. */
  readonly assistant: LetIn;
  /** Lets an application act for a person of the demo, with their consent. */
  consent(name: string, application: string, resource: string, scope: string): Promise<LetIn>;
  close(): Promise<void>;
}

/** The receiver of the demo's webhook. It fails while `failing` is set. */
export interface Receiver {
  failing: boolean;
  readonly url: string;
  close(): Promise<void>;
}

/** Creates the folder of a demo. */
export const newDemoFolder = (): string => mkdtempSync(join(tmpdir(), 'legate-demo-'));

/** Starts a service with sample data in its own folder, on loopback, and creates its history. */
export async function startDemo({ folder, rows, agents: agentCount, port: wanted, log }: DemoOptions): Promise<Demo> {
  const clock = new DemoClock();
  const closers: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const close = async (): Promise<void> => {
    for (const end of closers.splice(0).reverse()) await end();
  };
  try {
    const receiver = await startReceiver();
    closers.push(() => receiver.close());
    const port = await freePort(HOST, wanted, '--port');
    const url = `http://localhost:${port}`;
    const legate = await createLegate(
      {
        dataDir: folder,
        baseUrl: url,
        http: { port },
        service: {
          banner: 'Demo: all data is fictitious and is deleted when the command ends.',
          bannerDe: 'Demo: Alle Daten sind erfunden und werden gelöscht, wenn der Befehl endet.',
        },
        users: { signUp: 'invite' },
        webhooks: { allowPrivateNetworks: true, retryDelaysMs: [2000, 5000, 10_000] },
        approvals: { ttl: 600 },
        agents: { maxPerOwner: Math.max(200, agentCount) },
      },
      { env: {}, log, clock, production: false, printMail: () => {} },
    );
    closers.push(() => legate.close());
    const ids = await addPeople(legate);
    const adminId = ids.get('ada@example.com') as Id<'user'>;
    const { token } = await legate.apiTokens.create(adminId, { name: 'demo' });
    const overFetch: typeof fetch = (address, init) =>
      legate.fetch(new Request(address, init), { remoteAddress: '127.0.0.1' }) as Promise<Response>;
    const clientOf = (credential: string): LegateClient =>
      new LegateClient({ baseUrl: url, token: credential, fetch: overFetch, retries: 0 });
    const admin = clientOf(token);
    await assignTenants(admin);
    const target = localTarget(legate);
    const seed = { ...SEED, agents: agentsOf(agentCount) };
    const seeded = await applyPlan(await planSeed(seed, target), target);
    const agents = new Map(
      seeded.map((agent: SeededToken) => [agent.name, withClient(agent.id, () => clientOf(agent.token))]),
    );
    await addSettings(legate, admin, agents, receiver);
    const servers = await startServers(legate);
    closers.push(() => servers.close());
    const consent: Demo['consent'] = async (name, application, resource, scope) => {
      const person = await legate.apiTokens.create(ids.get(`${name}@example.com`) as Id<'user'>, { name: application });
      return letIn({ url, fetch: overFetch, admin, person: person.token, application, resource, scope });
    };
    const idByName = new Map([...agents].map(([name, { id }]) => [name, id]));
    await makeHistory(legate, clock, idByName, { agents: seed.agents, rows });
    const listening = await listenOn(legate, port, HOST, '--port');
    closers.push(() => listening.stop(0));
    const assistant = await consent('sam', 'Desk assistant', servers.wiki, 'mcp:read mcp:execute');
    await consent('ada', 'Report builder', url, 'agents:read audit:read');
    const signInUrl = await signInLink(legate, adminId, url);
    return { legate, url, signInUrl, admin, agents, receiver, servers, assistant, consent, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** An agent whose client is made when it is first used: most of many agents never act. */
function withClient(id: string, make: () => LegateClient): { readonly id: string; readonly client: LegateClient } {
  let client: LegateClient | undefined;
  return {
    id,
    get client() {
      client ??= make();
      return client;
    },
  };
}

/** Adds the people without passwords. Returns their ids by address. */
async function addPeople({ platform }: Legate): Promise<ReadonlyMap<string, Id<'user'>>> {
  const rows = await platform.ledger.change(SYSTEM, async (change) => {
    const made = [];
    for (const { email, name, role } of PEOPLE)
      made.push(await insertUser(change, { email, name, role, passwordHash: null, emailVerified: true }));
    return made;
  });
  return new Map(rows.map(({ email, id }) => [email as string, id]));
}

async function assignTenants(admin: LegateClient): Promise<void> {
  const { items } = await admin.users.list().page();
  for (const name of TENANTS) {
    const tenant = await admin.tenants.create({ name });
    for (const person of PEOPLE.filter((p) => p.tenant === name)) {
      const user = items.find(({ email }) => email === person.email);
      if (user) await admin.users.update(user.id, { tenantId: tenant.id });
    }
  }
}

async function addSettings(
  legate: Legate,
  admin: LegateClient,
  agents: Demo['agents'],
  receiver: Receiver,
): Promise<void> {
  const idOf = (name: string): string => (agents.get(name) as { id: string }).id;
  const limits = [
    { agent: 'translator', metric: 'tokens', limit: 20_000, window: 'day', onExceed: 'deny' },
    { agent: 'release-manager', metric: 'calls', limit: 5000, window: 'day', onExceed: 'notify' },
    { agent: 'forecast', metric: 'cost', limit: 25, window: 'month', onExceed: 'notify' },
  ] as const;
  for (const { agent, ...budget } of limits) await admin.budgets.create({ agentId: idOf(agent), ...budget });
  await admin.webhooks.create({
    url: receiver.url,
    types: ['anomaly.detected', 'approval.requested', 'agent.revoked'],
  });
  for (const name of ['crm', 'github'])
    await legate.mcp.registerServer({
      name,
      endpoint: `${legate.baseUrl}/demo/${name}/mcp`,
      tools: ['search', 'read'],
    });
}

async function signInLink({ platform, baseUrl, fetch }: Legate, userId: Id<'user'>, url: string): Promise<string> {
  const console = await fetch(new Request(`${baseUrl}/console`), { remoteAddress: '127.0.0.1' });
  const callbackUrl = `${url}${console.status === 404 ? '/account' : '/console'}`;
  const token = await platform.ledger.change(SYSTEM, async (change) => {
    const user = await getUserRow(change.db, userId);
    return createRequestedLink(change, 'magic-link', user, HOUR_MS, { callbackUrl });
  });
  return `${url}/magic-link/verify?${new URLSearchParams({ token: token as string })}`;
}

async function startReceiver(): Promise<Receiver> {
  const server = createServer((req, res) => {
    req.resume();
    res.writeHead(receiver.failing ? 503 : 200).end();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const receiver = {
    failing: false,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    close: () =>
      new Promise<void>((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
  return receiver;
}
