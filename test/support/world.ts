import { createTestService, type TestAgent, type TestOptions, type TestService, type TestUser } from './service.ts';

/** A service with people and agents under the names that a suite chooses; by default one person with one agent. */
export type World<Agents extends string = 'agent', Users extends string = 'owner'> = { readonly t: TestService } & {
  readonly [name in Users]: TestUser;
} & { readonly [name in Agents]: TestAgent };

/** The body of POST /agents. `owner` names the person; the default is the first one. */
type NewAgent<Users extends string> = { readonly owner?: NoInfer<Users> } & Readonly<Record<string, unknown>>;

export const MAY_READ = { permissions: [{ resource: 'db:*', actions: ['read'] }] };

/** Creates a service with one person and one agent of that person, which by default may read `db:*`. */
export const newWorld = (agent: Readonly<Record<string, unknown>> = MAY_READ, options?: TestOptions): Promise<World> =>
  newWorldOf({ owner: {} }, { agent }, options);

/** Creates a service with these people and agents. */
export async function newWorldOf<Agents extends string, Users extends string>(
  users: Readonly<Record<Users, Parameters<TestService['user']>[0]>>,
  agents: Readonly<Record<Agents, NewAgent<Users>>>,
  options?: TestOptions,
): Promise<World<Agents, Users>> {
  const t = await createTestService(options);
  const people = new Map<string, TestUser>();
  for (const [name, user] of Object.entries(users)) people.set(name, await t.user(user as object));
  const [first] = people.keys();
  const made: Record<string, TestAgent> = {};
  for (const [name, agent] of Object.entries<NewAgent<Users>>(agents)) {
    const { owner = first, ...body } = agent;
    made[name] = await t.agent(people.get(owner as string) as TestUser, body);
  }
  return { t, ...Object.fromEntries(people), ...made } as World<Agents, Users>;
}
