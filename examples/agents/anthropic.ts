import type Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { type GuardedLegate, guardFor } from 'legate/agents';
import { z } from 'zod';
import { deleteNote, readNote } from './notes.ts';

const inputSchema = z.object({ name: z.string() });
const tools = [
  betaZodTool({ name: 'readNote', description: 'Reads a note', inputSchema, run: readNote }),
  betaZodTool({ name: 'deleteNote', description: 'Deletes a note', inputSchema, run: deleteNote }),
];

export function run(legate: GuardedLegate, agent: string, anthropic: Anthropic, prompt: string) {
  const guard = guardFor(legate, { agent, app: 'notes' });
  const messages = [{ role: 'user' as const, content: prompt }];
  return anthropic.beta.messages.toolRunner({
    model: 'claude-sonnet-5',
    max_tokens: 1000,
    messages,
    tools: guard.tools(tools),
  });
}
