import { UsageError } from './command.ts';
import { EXIT_BAD_FIXTURES, type FixtureFile } from './fixture-file.ts';
import type { Decided } from './fixture-report.ts';

interface Target {
  readonly url: string;
  readonly token: string;
}

/** Asks a running service; nothing is counted or recorded there. Agents are named by id, or by a name that only one of them has. */
export async function decideByService(file: FixtureFile, target: Target): Promise<Decided[]> {
  for (const [i, test] of file.tests.entries()) {
    for (const field of ['at', 'after'] as const)
      if (test[field] !== undefined)
        throw file.source.wrong(['tests', i, field], 'a running service decides by its own clock and counters: leave it out, or name a policy instead of --url');
  }
  const ids = await agentIds(target);
  const nameOf = new Map([...ids].flatMap(([name, found]) => found.map((id) => [id, name] as const)));
  const decided: Decided[] = [];
  for (const [i, test] of file.tests.entries()) {
    const found = test.agent.startsWith('agt_') ? [test.agent] : (ids.get(test.agent) ?? []);
    const [agentId] = found;
    if (agentId === undefined || found.length > 1)
      throw file.source.wrong(
        ['tests', i, 'agent'],
        agentId === undefined ? `no agent ${test.agent} is to be seen with this token` : `${found.length} agents have this name: use an id`,
      );
    const body = {
      agentId,
      action: test.action,
      resource: test.resource,
      arguments: test.arguments,
      ...(test.ip ? { context: { ip: test.ip } } : {}),
      dryRun: true,
      explain: true,
    };
    const response = await send(target, '/authorize', { method: 'POST', body: JSON.stringify(body) });
    if (response.status === 404) throw file.source.wrong(['tests', i, 'agent'], `no agent ${test.agent} is to be seen with this token`);
    if (response.status !== 200) throw file.source.wrong(['tests', i], `the service answered ${response.status}: ${(await response.text()).slice(0, 300)}`);
    decided.push({ ...((await response.json()) as Omit<Decided, 'nameOf'>), nameOf: (id) => nameOf.get(id) ?? id });
  }
  return decided;
}

async function agentIds(target: Target): Promise<Map<string, string[]>> {
  const ids = new Map<string, string[]>();
  let path: string | undefined = '/agents?status=active';
  while (path !== undefined) {
    const response: Response = await send(target, path);
    if (response.status !== 200) throw new UsageError(`${target.url} answered ${response.status} to GET /agents: ${(await response.text()).slice(0, 300)}`, EXIT_BAD_FIXTURES);
    for (const { id, name } of (await response.json()) as { id: string; name: string }[]) ids.set(name, [...(ids.get(name) ?? []), id]);
    const next = /<[^>]*(\?[^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
    path = next && `/agents${next}`;
  }
  return ids;
}

async function send({ url, token }: Target, path: string, init: RequestInit = {}): Promise<Response> {
  try {
    return await fetch(url.replace(/\/$/, '') + path, { ...init, headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' } });
  } catch {
    throw new UsageError(`No Legate answers at ${url}.`, EXIT_BAD_FIXTURES);
  }
}
