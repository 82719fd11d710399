import type { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { createAgent, tool } from 'langchain';
import { type GuardedLegate, guardFor } from 'legate/agents';
import { z } from 'zod';
import { deleteNote, readNote } from './notes.ts';

const schema = z.object({ name: z.string() });
const tools = [
  tool(readNote, { name: 'readNote', description: 'Reads a note', schema }),
  tool(deleteNote, { name: 'deleteNote', description: 'Deletes a note', schema }),
];

export function run(legate: GuardedLegate, agent: string, model: BaseChatModel, prompt: string) {
  const guard = guardFor(legate, { agent, app: 'notes' });
  const middleware = [guard.langchainMiddleware()];
  return createAgent({ model, tools, middleware }).invoke({ messages: [{ role: 'user', content: prompt }] });
}
