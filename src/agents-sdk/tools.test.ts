import { tool as openaiTool } from '@openai/agents-core';
import { generateText, stepCountIs, tool } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { tool as langchainTool } from 'langchain';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createTestService, type TestAgent, type TestService } from '../../test/support/service.ts';
import { LegateClient } from '../client/index.ts';
import { guardFor, type ToolGuard } from './index.ts';

let t: TestService;
let agent: TestAgent;
let guard: ToolGuard;
beforeEach(async () => {
  t = await createTestService();
  agent = await t.agent(await t.user(), { permissions: [{ resource: 'app:shop:chart', actions: ['execute'] }] });
  const send = (url: string | URL | Request, init?: RequestInit) =>
    t.legate.fetch(new Request(url, init), { remoteAddress: '192.0.2.1' }) as Promise<Response>;
  const legate = new LegateClient({ baseUrl: 'http://localhost:3000', token: agent.token, fetch: send });
  guard = guardFor(legate, { agent: agent.id, app: 'shop' });
});

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const finish = (unified: 'tool-calls' | 'stop') => ({
  finishReason: { unified, raw: undefined },
  usage,
  warnings: [],
});

/** A tool whose results are pictures. */
const picture = () =>
  tool({
    description: 'Draws',
    inputSchema: z.object({}),
    execute: async (_input) => ({ data: 'iVBORw0KGgo=', mediaType: 'image/png' }),
    toModelOutput: ({ output }) => ({
      type: 'content',
      value: [{ type: 'image-data', data: output.data.slice(0), mediaType: output.mediaType }],
    }),
  });

/** Calls one tool, and returns what the model was shown as its result. */
async function shown(name: 'chart' | 'secret') {
  const model = new MockLanguageModelV3({
    doGenerate: [
      { content: [{ type: 'tool-call', toolCallId: 'call_1', toolName: name, input: '{}' }], ...finish('tool-calls') },
      { content: [{ type: 'text', text: 'done' }], ...finish('stop') },
    ],
  });
  const tools = guard.tools({ chart: picture(), secret: picture() });
  expect((await generateText({ model, prompt: 'Draw', tools, stopWhen: stepCountIs(3) })).text).toBe('done');
  const answer = model.doGenerateCalls[1]?.prompt.at(-1)?.content as unknown as { output: unknown }[];
  return answer[0]?.output;
}

describe('a tool that turns its results into what the model sees (toModelOutput)', () => {
  it('does so with its results, and the model sees a refusal as it is', async () => {
    expect(await shown('chart')).toMatchObject({ type: 'content', value: [{ mediaType: 'image/png' }] });
    expect(await shown('secret')).toMatchObject({ type: 'json', value: { denied: true, reason: 'NO_PERMISSION' } });
  });

  it('in the AI SDK 5 and Mastra, which pass the output alone', async () => {
    const { chart } = guard.tools({
      chart: { execute: async () => 'ok', toModelOutput: (output: unknown): unknown => ({ type: 'text', of: output }) },
    });
    const denial = { denied: true, reason: 'RATE_LIMITED', message: 'Later.', retryAfter: 3 };
    expect(chart.toModelOutput(denial)).toEqual({ type: 'json', value: denial });
    for (const output of ['ok', undefined, null, { denied: true }])
      expect(chart.toModelOutput(output)).toEqual({ type: 'text', of: output });
  });
});

describe('guard.tools refuses tools whose calls it could not decide', () => {
  const secret = async () => 'ran';
  const fields = { name: 'secret', description: 'Secret' };
  it.each<[string, () => object]>([
    ['LangChain', () => [langchainTool(secret, { ...fields, schema: z.object({}) })]],
    ['OpenAI Agents SDK', () => [openaiTool({ ...fields, parameters: z.object({}), execute: secret })]],
    ['Claude Agent SDK', () => [{ ...fields, inputSchema: {}, handler: secret }]],
    ['plain functions', () => ({ secret })],
    ['tools in groups, such as toolsets of Mastra', () => ({ secret: { read: picture() } })],
  ])('%s', (_, tools) => {
    expect(() => guard.tools(tools())).toThrow(
      new TypeError('guard.tools: secret has no function `execute` or `run`, so its calls cannot be decided.'),
    );
  });

  it('and returns tools that the application does not run itself', () => {
    const provided = { type: 'provider', id: 'openai.web_search', name: 'web_search', args: {} };
    const ofClient = tool({ description: 'Asks', inputSchema: z.object({}), onInputAvailable: () => {} });
    const tools = guard.tools({ provided, ofClient, none: undefined });
    expect(tools).toEqual({ provided, ofClient, none: undefined });
  });
});
