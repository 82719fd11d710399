import { generateText, type LanguageModel, stepCountIs, tool } from 'ai';
import { type GuardedLegate, guardFor } from 'legate/agents';
import { z } from 'zod';
import { deleteNote, readNote } from './notes.ts';

const inputSchema = z.object({ name: z.string() });
const tools = {
  readNote: tool({ description: 'Reads a note', inputSchema, execute: readNote }),
  deleteNote: tool({ description: 'Deletes a note', inputSchema, execute: deleteNote }),
};

export function run(legate: GuardedLegate, agent: string, model: LanguageModel, prompt: string) {
  const guard = guardFor(legate, { agent, app: 'notes' });
  return generateText({ model, prompt, tools: guard.tools(tools), stopWhen: stepCountIs(5) });
}
