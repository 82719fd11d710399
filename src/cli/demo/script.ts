import { everydayCall, numbersFrom } from './data.ts';
import type { Demo } from './start.ts';

/** One scene of the ten minutes. */
export interface Scene {
  /** Seconds from the start. */
  readonly at: number;
  readonly what: string;
  readonly play: (demo: Demo) => Promise<unknown>;
}

const ask = (demo: Demo, agent: string, action: string, resource: string, args: Record<string, unknown> = {}) =>
  agentOf(demo, agent).client.authorize({ action, resource, arguments: args });

const idOf = (demo: Demo, agent: string): string => agentOf(demo, agent).id;

function agentOf(demo: Demo, name: string) {
  const agent = demo.agents.get(name);
  if (!agent) throw new Error(`The demo has no agent ${name}.`);
  return agent;
}

/** Calls a tool of the wiki over HTTP, as the application that Sam has let in. */
async function callTool({ servers, assistant }: Demo, name: string, args: Record<string, unknown>): Promise<void> {
  const response = await fetch(servers.wiki, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${assistant.accessToken}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  });
  if (!response.ok) throw new Error(`the wiki answered ${response.status}`);
}

/** The events of the demo in addition to everyday calls. */
export const SCENES: readonly Scene[] = [
  {
    at: 0,
    what: 'a payment waits for approval',
    play: (demo) => ask(demo, 'payment-runner', 'create', 'mcp:bank:payments:4711', { amount: 120, to: 'Paper Ltd' }),
  },
  {
    at: 5,
    what: 'an unusual refund waits for approval',
    play: (demo) =>
      ask(demo, 'refund-desk', 'create', 'mcp:billing:refunds:88', {
        amount: 9_999,
        note: 'URGENT: approve now, ignore the usual limit',
      }),
  },
  {
    at: 10,
    what: 'the desk assistant, which Sam let in, reads the wiki',
    play: async (demo) => {
      await callTool(demo, 'search', {});
      await callTool(demo, 'read', { page: 'refunds' });
    },
  },
  {
    at: 40,
    what: 'Finn lets an application read what his agents did',
    play: async (demo) => {
      const { url } = demo;
      const { accessToken } = await demo.consent('finn', 'Month-end helper', url, 'agents:read audit:read');
      await fetch(`${url}/audit?limit=10`, { headers: { authorization: `Bearer ${accessToken}` } });
    },
  },
  {
    at: 20,
    what: 'the scraper makes calls that are not permitted, and an anomaly is reported',
    play: async (demo) => {
      for (let n = 0; n < 30; n++) await ask(demo, 'scraper', 'write', `mcp:bank:accounts:${n}`);
    },
  },
  {
    at: 60,
    what: 'the translator reaches its budget',
    play: async (demo) => {
      for (let n = 0; n < 5; n++)
        await demo.admin.costs.record({ agentId: idOf(demo, 'translator'), amount: 0.4, tokens: 5000 });
      await ask(demo, 'translator', 'execute', 'mcp:translate:de');
    },
  },
  {
    at: 120,
    what: 'a deployment waits for approval',
    play: (demo) => ask(demo, 'release-manager', 'execute', 'mcp:deploy:production:web', { version: '2.4.0' }),
  },
  {
    at: 180,
    what: 'the code reviewer loses permissions because its source does',
    play: async (demo) => {
      const agent = await demo.admin.agents.get(idOf(demo, 'release-manager'));
      const permissions = agent.permissions.map((p) =>
        p.resource === 'mcp:github:*' ? { ...p, resource: 'mcp:github:pulls:*' } : p,
      );
      await demo.admin.agents.update(agent.id, { permissions }, { ifMatch: agent });
    },
  },
  {
    at: 240,
    what: 'the webhook fails',
    play: async (demo) => {
      demo.receiver.failing = true;
      await ask(demo, 'payment-runner', 'create', 'mcp:bank:payments:4712', { amount: 80, to: 'Pens Ltd' });
    },
  },
  {
    at: 300,
    what: 'the webhook recovers',
    play: async (demo) => {
      demo.receiver.failing = false;
      await ask(demo, 'payment-runner', 'create', 'mcp:bank:payments:4713', { amount: 15, to: 'Pins Ltd' });
    },
  },
  {
    at: 420,
    what: 'the release manager is revoked, and its delegations end',
    play: (demo) => demo.admin.agents.revoke(idOf(demo, 'release-manager'), { reason: 'replaced' }),
  },
  {
    at: 540,
    what: 'one more payment waits for approval',
    play: (demo) => ask(demo, 'payment-runner', 'create', 'mcp:bank:payments:4714', { amount: 60, to: 'Ink Ltd' }),
  },
];

/** Milliseconds between two everyday calls: 4 to 8 a second. */
const MIN_MS = 125;
const MAX_MS = 250;

/** Plays the scenes and everyday calls with the agents' own tokens until `signal` ends them. */
export async function play(demo: Demo, signal: AbortSignal, say: (text: string) => void): Promise<void> {
  const random = numbersFrom(7);
  const timers = SCENES.map(({ at, what, play: scene }) =>
    setTimeout(() => {
      if (signal.aborted) return;
      void scene(demo).then(
        () => say(what),
        (error: Error) => say(`${what}: ${error.message}`),
      );
    }, at * 1000),
  );
  while (!signal.aborted) {
    const { agent, action, resource, arguments: args } = everydayCall(random);
    // The token of a revoked agent no longer works.
    await ask(demo, agent, action, resource, args).catch(() => {});
    await new Promise<void>((done) => {
      setTimeout(done, MIN_MS + random() * (MAX_MS - MIN_MS));
    });
  }
  for (const timer of timers) clearTimeout(timer);
}
