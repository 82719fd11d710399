import { AIMessage, createAgent, createMiddleware, fakeModel, ToolMessage, tool } from 'langchain';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { guardFor } from './index.ts';

const REFUSED = { denied: true, reason: 'NO_PERMISSION', message: expect.stringContaining('no permission') };

/** A guard that permits `readNote` only. */
const guard = () =>
  guardFor(
    {
      authorize: async ({ resource }) =>
        resource === 'app:notes:readNote' ? { allowed: true } : { allowed: false, reason: 'NO_PERMISSION' },
      approvals: { get: async () => ({ status: 'pending' }) },
    },
    { agent: 'agt_1', app: 'notes' },
  ).langchainMiddleware();

describe('the middleware for LangChain', () => {
  it('runs nothing after a denial, even if a middleware after it supplies the tools', async () => {
    const model = fakeModel();
    for (const name of ['readNote', 'deleteNote']) model.respondWithTools([{ id: `call_${name}`, name, args: {} }]);
    model.respond(new AIMessage('done'));
    const ran: string[] = [];
    const supplied = (name: string) =>
      tool(
        () => {
          ran.push(name);
          return 'ran';
        },
        { name, description: name, schema: z.object({}) },
      );
    const supplier = createMiddleware({
      name: 'Supplier',
      wrapToolCall: (request, handler) => handler({ ...request, tool: supplied(request.toolCall.name) }),
    });
    const tools = [supplied('readNote'), supplied('deleteNote')];
    const { messages } = await createAgent({ model, tools, middleware: [guard(), supplier] }).invoke({
      messages: [{ role: 'user', content: 'Tidy up' }],
    });
    expect(ran).toEqual(['readNote']);
    expect(messages.at(-1)?.text).toBe('done');

    const refusal = messages.filter((message) => ToolMessage.isInstance(message)).at(-1);
    expect(refusal).toMatchObject({ status: 'error', tool_call_id: 'call_deleteNote', name: 'deleteNote' });
    expect(JSON.parse(refusal?.text as string)).toEqual(REFUSED);
    // Stored messages are read by this id.
    expect(refusal?.toJSON()).toMatchObject({
      id: ['langchain_core', 'messages', 'ToolMessage'],
      kwargs: { tool_call_id: 'call_deleteNote', status: 'error', content: refusal?.text },
    });
  });

  it('returns an object of the form of a tool message if the request has no messages of a run', async () => {
    const handler = vi.fn();
    const toolCall = { id: 'call_1', name: 'deleteNote', args: {} };
    const answer = await guard().wrapToolCall({ toolCall }, handler);
    expect(answer).toMatchObject({ type: 'tool', status: 'error', tool_call_id: 'call_1', name: 'deleteNote' });
    expect(JSON.parse(answer.content)).toEqual(REFUSED);
    expect(handler).not.toHaveBeenCalled();
  });
});
