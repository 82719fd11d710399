import { LegateClient, LegateError } from '../../client/index.ts';
import type { Legate } from '../../service.ts';
import { UsageError } from '../command.ts';
import type { SeedTarget } from './plan.ts';

/** A running service, with the rights of a token. */
export function remoteTarget(url: string, token: string): SeedTarget {
  const client = new LegateClient({ baseUrl: url, token });
  return {
    owner: remember(async (named) => {
      const own = ownerInAccessToken(token);
      if (own && named?.includes('@'))
        throw new UsageError(
          `The token of \`npx legate login\` cannot look up ${named}. Leave out \`owner\` for agents of your own, or ` +
            `name your account by its id (${own.id}). For agents of others, use an API token of an administrator.`,
        );
      const me = own ?? (await client.sessions.current()).user;
      if (named === undefined || named === me.id || named === me.email) return { id: me.id, name: me.email ?? me.id };
      if (!named.includes('@')) return { id: named, name: named };
      const { items } = await client.users.list({ email: named }).page();
      return known(items, named);
    }),
    agents: remember(async (ownerId) => all(client.agents.list({ ownerId, status: 'active' }))),
    delegations: remember(async (fromAgent) => all(client.delegations.list({ fromAgent }))),
    api: client as unknown as SeedTarget['api'],
  };
}

/** Returns the person in an access token of `legate login`, which cannot read the session. */
function ownerInAccessToken(token: string): { readonly id: string; readonly email?: string } | undefined {
  const [, payload] = token.split('.');
  if (payload === undefined) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const { user_id: id } = (claims ?? {}) as { user_id?: unknown };
    return typeof id === 'string' ? { id } : undefined;
  } catch {
    return undefined;
  }
}

/** The service in this process, with the rights of an administrator. */
export function localTarget(legate: Legate): SeedTarget {
  return {
    owner: remember(async (named) => {
      if (named?.includes('@')) return known(await legate.users.list({ email: named }), named);
      if (named !== undefined) return { id: named, name: named };
      const [admin] = await legate.users.list({ role: 'admin' });
      if (!admin) throw new UsageError('There is no administrator yet. Name the owner of each agent in the file.');
      return { id: admin.id, name: admin.email ?? admin.id };
    }),
    agents: remember((ownerId) => legate.agents.list({ ownerId, status: 'active' })),
    delegations: remember((fromAgent) => legate.delegations.list({ fromAgent })),
    api: legate as unknown as SeedTarget['api'],
  };
}

function known(
  users: readonly { readonly id: string; readonly email?: string | null | undefined }[],
  named: string,
): { id: string; name: string } {
  const [user] = users;
  if (!user) throw new UsageError(`No user has the address ${named}, or this token may not see them.`);
  return { id: user.id, name: user.email ?? user.id };
}

async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of list) items.push(item);
  return items;
}

/** Caches the result for each argument. */
function remember<A, T>(ask: (argument: A) => Promise<T>): (argument: A) => Promise<T> {
  const answers = new Map<A, Promise<T>>();
  return (argument) => {
    const answer = answers.get(argument) ?? ask(argument);
    answers.set(argument, answer);
    return answer.catch((error: unknown) => {
      throw error instanceof LegateError ? new UsageError(`${error.code}: ${error.message}`) : error;
    });
  };
}
