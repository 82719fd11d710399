import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { type Model, type ModelResponse, setTracingDisabled, Usage } from '@openai/agents-core';
import { MockLanguageModelV3 } from 'ai/test';
import { AIMessage, fakeModel } from 'langchain';
import { beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { run as runAi } from '../../examples/agents/ai-sdk.ts';
import { run as runAnthropic } from '../../examples/agents/anthropic.ts';
import { run as runLangchain } from '../../examples/agents/langchain.ts';
import { deleteNote, notes, readNote } from '../../examples/agents/notes.ts';
import { run as runOpenai } from '../../examples/agents/openai-agents.ts';
import { createTestService, type TestAgent, type TestService, type TestUser } from '../../test/support/service.ts';
import { LegateClient } from '../client/index.ts';
import { type Denial, type GuardedLegate, guardFor } from './index.ts';

let t: TestService;
let owner: TestUser;
let agent: TestAgent;
let client: LegateClient;
beforeAll(async () => {
  setTracingDisabled(true);
  t = await createTestService({ lasting: true });
  owner = await t.user();
  client = new LegateClient({ ...served, token: owner.token });
});
const served = {
  baseUrl: 'http://localhost:3000',
  fetch: (url: string | URL | Request, init?: RequestInit) =>
    t.legate.fetch(new Request(url, init), { remoteAddress: '192.0.2.1' }) as Promise<Response>,
};
/** Each test has an agent that may read notes, and may delete `secret` after an approval. */
beforeEach(async () => {
  notes.set('todo', 'Water the plants');
  agent = await t.agent(owner, {
    permissions: [
      { resource: 'app:notes:readNote', actions: ['execute'] },
      { resource: 'app:notes:mcp__notes__readNote', actions: ['execute'] },
      { resource: 'app:notes:publish', actions: ['execute'], constraints: { requireApproval: true } },
      { resource: 'app:notes:search', actions: ['execute'], constraints: { maxCallsPerHour: 1 } },
    ],
  });
});

/** The model of every framework reads the note, tries to delete it, and ends. */
const CALLS = [
  { id: 'call_1', name: 'readNote', input: { name: 'todo' } },
  { id: 'call_2', name: 'deleteNote', input: { name: 'todo' } },
];
const REFUSED = { denied: true, reason: 'NO_PERMISSION', message: expect.stringContaining('no permission') };

/** Loads a module whose types are not for Node 20. */
const load = (name: string) => import(/* @vite-ignore */ name);

/** Checks what the model was shown and that each call was one recorded decision with its arguments. */
async function expectGuarded(answers: readonly [read: string, refused: string], prefix = ''): Promise<void> {
  expect(answers[0]).toContain('Water the plants');
  expect(JSON.parse(answers[1])).toEqual(REFUSED);
  expect(notes.get('todo')).toBe('Water the plants');
  const { items } = await client.audit.list({ agentId: agent.id, order: 'asc' }).page();
  expect(
    items.map(({ resource, action, result, parameters }) => ({ resource, action, result, args: parameters })),
  ).toEqual([
    { resource: `app:notes:${prefix}readNote`, action: 'execute', result: 'allowed', args: { name: 'todo' } },
    { resource: `app:notes:${prefix}deleteNote`, action: 'execute', result: 'denied', args: { name: 'todo' } },
  ]);
}

/** What a mock model of the AI SDK answers, call after call. */
const steps = () => {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  const step = <T>(content: T, unified: 'tool-calls' | 'stop') => ({
    content: [content],
    finishReason: { unified, raw: undefined },
    usage,
    warnings: [],
  });
  return [
    ...CALLS.map(({ id, name, input }) =>
      step({ type: 'tool-call' as const, toolCallId: id, toolName: name, input: JSON.stringify(input) }, 'tool-calls'),
    ),
    step({ type: 'text' as const, text: 'done' }, 'stop'),
  ];
};

/** Returns what the model was shown of the calls before its last answer. */
const shownTo = (model: { doGenerateCalls: { prompt: readonly unknown[] }[] }) => {
  const prompt = (model.doGenerateCalls.at(-1)?.prompt ?? []) as { role: string; content: { output: unknown }[] }[];
  const answers = prompt.filter(({ role }) => role === 'tool');
  return answers.map(({ content }) => content[0]?.output as { value: unknown; reason: string });
};

describe('the examples, with the real packages and their mock models', () => {
  it('AI SDK: tools', async () => {
    const result = await runAi(client, agent.id, new MockLanguageModelV3({ doGenerate: steps() }), 'Tidy up');
    const outputs = result.steps.flatMap((step) => step.toolResults.map(({ output }) => output as unknown));
    expect(result.text).toBe('done');
    await expectGuarded([outputs[0] as string, JSON.stringify(outputs[1])]);
  });

  it('OpenAI Agents: input guardrail', async () => {
    const seen: string[] = [];
    const responses: ModelResponse[] = [
      ...CALLS.map(({ id, name, input }) => ({
        usage: new Usage(),
        output: [
          {
            type: 'function_call' as const,
            callId: id,
            name,
            arguments: JSON.stringify(input),
            status: 'completed' as const,
          },
        ],
      })),
      {
        usage: new Usage(),
        output: [
          {
            type: 'message',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: 'done' }],
          },
        ],
      },
    ];
    const model: Model = {
      getResponse: async () => responses.shift() as ModelResponse,
      // biome-ignore lint/correctness/useYield: the run does not stream.
      getStreamedResponse: async function* () {
        throw new Error('not used');
      },
    };
    const result = await runOpenai(client, agent.id, model, 'Tidy up');
    expect(result.finalOutput).toBe('done');
    for (const item of result.history)
      if (item.type === 'function_call_result') {
        const { output } = item;
        seen.push(typeof output === 'string' ? output : (output as { text: string }).text);
      }
    await expectGuarded(seen as [string, string]);
  });

  it('LangChain: middleware, which refuses with a tool message of status error', async () => {
    const model = fakeModel();
    for (const { id, name, input } of CALLS) model.respondWithTools([{ id, name, args: input }]);
    model.respond(new AIMessage('done'));
    const { messages } = await runLangchain(client, agent.id, model, 'Tidy up');
    const answers = messages.filter((message) => message.type === 'tool');
    expect(messages.at(-1)?.text).toBe('done');
    expect(answers.map((message) => [(message as { status?: string }).status, message.constructor.name])).toEqual([
      [expect.not.stringMatching('error'), 'ToolMessage'],
      ['error', 'ToolMessage'],
    ]);
    await expectGuarded(answers.map((message) => message.text) as [string, string]);
  });

  it('Anthropic SDK: tools', async () => {
    const shown: string[] = [];
    const messages = [
      ...CALLS.map((call) => ({ content: [{ type: 'tool_use', ...call }], stop_reason: 'tool_use' })),
      { content: [{ type: 'text', text: 'done' }], stop_reason: 'end_turn' },
    ];
    const anthropic = new Anthropic({
      apiKey: 'none',
      fetch: async (_, init) => {
        const last = JSON.parse(init?.body as string).messages.at(-1);
        for (const block of Array.isArray(last.content) ? last.content : [])
          if (block.type === 'tool_result') shown.push(block.content);
        const usage = { input_tokens: 1, output_tokens: 1 };
        const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', usage, ...messages.shift() };
        return Response.json(message);
      },
    });
    const final = await runAnthropic(client, agent.id, anthropic, 'Tidy up');
    expect(final.content).toMatchObject([{ text: 'done' }]);
    await expectGuarded(shown as [string, string]);
  });
});

describe('docs/guides/guard-the-tools-of-your-agent.md', () => {
  const at = (path: string): string => readFileSync(resolve(import.meta.dirname, '../..', path), 'utf8');
  const guide = at('docs/guides/guard-the-tools-of-your-agent.md');
  const files = ['ai-sdk.ts', 'openai-agents.ts', 'langchain.ts', 'anthropic.ts', 'claude-agent.mjs', 'mastra.mjs'];
  const examples = files.map((name) => at(`examples/agents/${name}`));

  it('shows statements of the examples that run above, complete and as they are there', () => {
    const blocks = [...guide.matchAll(/```(?:ts|js)\n\/\/ examples\n(.*?)```/gs)].map((m) => m[1] as string);
    expect(blocks).toHaveLength(files.length);
    for (const [i, block] of blocks.entries()) expect(examples[i]?.replaceAll('\n  ', '\n')).toContain(block);
  });

  it('has the commands that permit the tools', async () => {
    const permissions = JSON.parse(/```json\n(.*?)```/s.exec(guide)?.[1] as string);
    const { id } = await client.agents.create({ ownerId: owner.id, name: 'notes', type: 'service', permissions });
    const tools = guardFor(client, { agent: id, app: 'notes' }).tools({
      readNote: { execute: () => 'ran' },
      deleteNote: { execute: () => 'ran' },
    });
    expect(await tools.readNote.execute()).toBe('ran');
    expect(await tools.deleteNote.execute()).toMatchObject({ reason: 'APPROVAL_REQUIRED' });
  });
});

/** They declare Node 22 or later, or bring a large program, so npm test installs them apart. */
const FRAMEWORKS = resolve(import.meta.dirname, '../../test/frameworks');
const areInstalled = existsSync(resolve(FRAMEWORKS, 'node_modules'));
describe.skipIf(!areInstalled)('frameworks that are installed apart', () => {
  const inputSchema = z.object({ name: z.string() });

  it('AI SDK 7: toolApproval', async () => {
    const { generateText, isStepCount, MockLanguageModelV4, tool } = await load(resolve(FRAMEWORKS, 'load.mjs'));
    const tools = {
      readNote: tool({ inputSchema, execute: readNote }),
      deleteNote: tool({ inputSchema, execute: deleteNote }),
    };
    const model = new MockLanguageModelV4({ doGenerate: steps() });
    const stopWhen = isStepCount(5);
    const { text } = await generateText({
      model,
      prompt: 'Tidy up',
      tools,
      stopWhen,
      toolApproval: guardFor(client, { agent: agent.id, app: 'notes' }).toolApproval(),
    });
    expect(text).toBe('done');
    const [read, refused] = shownTo(model);
    await expectGuarded([read?.value as string, refused?.reason as string]);
  });

  it('Mastra: beforeToolCall', async () => {
    vi.stubEnv('MASTRA_TELEMETRY_DISABLED', '1');
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    const { run } = await load('../../examples/agents/mastra.mjs');
    const model = new MockLanguageModelV3({ doGenerate: steps() });
    expect((await run(client, agent.id, model, 'Tidy up')).text).toBe('done');
    const [read, refused] = shownTo(model);
    await expectGuarded([read?.value as string, JSON.stringify(refused?.value)]);
  });

  it('Claude Agent SDK: PreToolUse', async () => {
    const { run } = await load('../../examples/agents/claude-agent.mjs');
    const messages: { type: string; result: string }[] = [];
    const options = {
      pathToClaudeCodeExecutable: resolve(FRAMEWORKS, 'claude-program.mjs'),
      env: { ...process.env, CALLS: JSON.stringify(CALLS) },
    };
    for await (const message of run(client, agent.id, options, 'Tidy up')) messages.push(message);
    const [read, refused] = JSON.parse(messages.at(-1)?.result as string);
    await expectGuarded([read, refused], 'mcp__notes__');
  });
});

describe('a guarded tool', () => {
  const execute = vi.fn(async (_input: unknown, _options?: unknown): Promise<unknown> => 'ran');
  beforeEach(() => {
    execute.mockClear();
  });
  const toolsOf = (legate: GuardedLegate, more: Partial<Parameters<typeof guardFor>[1]> = {}) =>
    guardFor(legate, { agent: agent.id, app: 'notes', ...more }).tools({
      publish: { execute },
      search: { execute },
      readNote: { execute },
      'a:b': { execute },
    });

  it('keeps its class and everything that is not to be run', async () => {
    class Tool {
      readonly description = 'd';
      #secret = 'private';
      execute(): string {
        return this.#secret;
      }
    }
    const guard = guardFor(client, { agent: agent.id, app: 'notes' });
    const hosted = { type: 'provider' };
    const tools = guard.tools({ readNote: new Tool(), hosted });
    expect(tools.readNote).toBeInstanceOf(Tool);
    expect(tools.readNote.description).toBe('d');
    expect(await tools.readNote.execute()).toBe('private');
    expect(tools.hosted).toEqual(hosted);
  });

  it('passes on the values of a generator, once the call is allowed', async () => {
    const generator = async function* (_input: unknown): AsyncGenerator<unknown> {
      yield 1;
      yield 2;
    };
    const tools = guardFor(client, { agent: agent.id, app: 'notes' }).tools({
      readNote: { execute: generator },
      deleteNote: { execute: generator },
    });
    const all = async (values: AsyncIterable<unknown>): Promise<unknown[]> => {
      const items: unknown[] = [];
      for await (const value of values) items.push(value);
      return items;
    };
    expect(await all(tools.readNote.execute({}))).toEqual([1, 2]);
    expect(await all(tools.deleteNote.execute({}))).toEqual([REFUSED]);
  });

  it('takes the agent from the context, and runs nothing without one', async () => {
    const agentOf = (context: { agentId?: string }) => context.agentId as string;
    const { readNote } = toolsOf(client, { agent: agentOf });
    expect(await readNote.execute({}, { experimental_context: { agentId: agent.id } })).toBe('ran');
    expect(await readNote.execute({}, { context: { agentId: agent.id } })).toBe('ran');
    expect(await readNote.execute({}, {})).toMatchObject({ denied: true });
    expect(execute).toHaveBeenCalledTimes(2);
  });

  it('reports when a rate limit ends', async () => {
    const { search } = toolsOf(client);
    expect(await search.execute({})).toBe('ran');
    expect(await search.execute({})).toMatchObject({ reason: 'RATE_LIMITED', retryAfter: expect.any(Number) });
  });

  it('writes a name that is not one segment as one segment', async () => {
    const refused = await toolsOf(client)['a:b'].execute({});
    expect(refused).toMatchObject({ reason: 'NO_PERMISSION' });
    const { items } = await client.audit.list({ agentId: agent.id }).page();
    expect(items[0]?.resource).toBe('app:notes:a%3Ab');
  });

  it.each([
    ['cannot be reached', () => Promise.reject(new TypeError('fetch failed'))],
    ['answers something else', () => Promise.resolve({} as never)],
    ['answers nothing', () => Promise.resolve(undefined as never)],
  ])('does not run if Legate %s', async (_, authorize) => {
    const { readNote } = toolsOf({ authorize, approvals: client.approvals });
    expect(await readNote.execute({})).toMatchObject({ denied: true });
    expect(execute).not.toHaveBeenCalled();
  });

  it('works with the Legate of the same process', async () => {
    const tools = toolsOf(t.legate);
    expect(await tools.readNote.execute({})).toBe('ran');
    expect(await tools.publish.execute({})).toMatchObject({ reason: 'APPROVAL_REQUIRED' });
  });

  it('links to the page of an approval below the path at which an application mounts Legate', async () => {
    const { legate } = await createTestService({ config: { http: { restPath: '/legate' } } });
    const { id: ownerId } = await legate.users.create({ email: 'ada@example.com', password: 'correct horse battery' });
    const { id } = await legate.agents.create({
      ...{ ownerId, name: 'notes', type: 'service' },
      permissions: [{ resource: 'app:notes:publish', actions: ['execute'], constraints: { requireApproval: true } }],
    });
    const { publish } = guardFor(legate, { agent: id, app: 'notes' }).tools({
      publish: { execute: async () => 'ran' },
    });
    const { approvalUrl } = (await publish.execute()) as unknown as Denial;
    const page = await legate.fetch(new Request(approvalUrl as string, { headers: { accept: 'text/html' } }));
    expect(page.headers.get('location')).toContain('/legate/account/sign-in');
  });

  it('with an approval: returns the link, and runs once after the owner has approved', async () => {
    const { publish } = toolsOf(client);
    const waiting = (await publish.execute({ name: 'todo' })) as Denial;
    expect(waiting).toMatchObject({
      reason: 'APPROVAL_REQUIRED',
      approvalUrl: `http://localhost:3000/account/approvals/${waiting.approvalId}`,
    });
    await client.approvals.approve(waiting.approvalId as string);
    expect(await publish.execute({ name: 'todo' })).toBe('ran');
    expect(await publish.execute({ name: 'todo' })).toMatchObject({ reason: 'APPROVAL_REQUIRED' });
    expect(execute).toHaveBeenCalledTimes(1);
  });

  it.each([
    ['approved', 'ran'],
    ['denied', expect.objectContaining({ reason: 'APPROVAL_DENIED' })],
  ])('waits, and ends when the call is %s', async (how, answer) => {
    // The person answers between two looks.
    const approvals: GuardedLegate['approvals'] = {
      get: async (id) => {
        await (how === 'approved' ? client.approvals.approve(id) : client.approvals.deny(id));
        return client.approvals.get(id);
      },
    };
    const { publish } = toolsOf({ authorize: (r) => client.authorize(r), approvals }, { onApproval: 'wait' });
    expect(await publish.execute({ name: 'waits' })).toEqual(answer);
  });

  it('returns the link instead of waiting if the token may not read approvals', async () => {
    const { token } = await client.apiTokens.create({ name: 'narrow', scopes: ['authorize'] });
    const narrow = new LegateClient({ ...served, token });
    const { publish } = toolsOf(narrow, { onApproval: 'wait' });
    expect(await publish.execute({})).toMatchObject({
      reason: 'APPROVAL_REQUIRED',
      approvalUrl: expect.stringContaining('/account/approvals/apr_'),
    });
  });
});
