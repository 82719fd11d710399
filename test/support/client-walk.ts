import { DeniedError, LegateClient, LegateError } from '../../src/client.ts';

/**
 * Uses the client like a program, in Node, a page or a worker. Returns a description of the results that is the same in
 * all of them.
 */
export async function walk(baseUrl: string, token: string, ownerId: string): Promise<string[]> {
  const seen: string[] = [];
  let lost = true;
  const legate = new LegateClient({
    baseUrl,
    token,
    fetch: async (...request: Parameters<typeof fetch>) => {
      const response = await fetch(...request);
      // The answer to the first question is lost.
      if (lost && new Request(...request).url.endsWith('/authorize')) {
        lost = false;
        throw new TypeError('Connection lost');
      }
      return response;
    },
  });
  const agent = await legate.agents.create({
    ownerId,
    name: `walk ${crypto.getRandomValues(new Uint32Array(2)).join('')}`,
    type: 'service',
    permissions: [{ resource: 'db:*', actions: ['read'] }],
  });
  const ask = { agentId: agent.id, action: 'read', resource: 'db:orders' };
  seen.push(`allowed ${(await legate.authorize(ask)).allowed}`);
  const entries = await legate.audit.list({ agentId: agent.id }).page();
  seen.push(`recorded ${entries.items.length}`);
  const denied = await legate.authorize({ ...ask, action: 'write' });
  seen.push(`denied ${denied.reason}`);
  await legate.require({ ...ask, action: 'drop' }).catch((error: unknown) => {
    seen.push(`thrown ${error instanceof DeniedError && error.decision.reason}`);
  });
  await legate.agents.get('agt_00000000000000000000000000').catch((error: unknown) => {
    seen.push(`error ${error instanceof LegateError && `${error.status} ${error.code} ${!!error.requestId}`}`);
  });
  const first = await legate.audit.list({ agentId: agent.id, limit: 2 }).page();
  let all = 0;
  for await (const _ of legate.audit.list({ agentId: agent.id, limit: 2 })) all++;
  seen.push(`page ${first.items.length}, then ${first.next !== undefined}, all ${all}`);
  const controller = new AbortController();
  const since = new Date(Date.parse(agent.createdAt) - 1);
  for await (const event of legate.events.stream({
    types: ['audit'],
    since,
    agentId: [agent.id],
    signal: controller.signal,
  })) {
    seen.push(`event ${event.type}`);
    if (seen.filter((line) => line === 'event audit').length === 3) controller.abort();
  }
  return seen;
}
