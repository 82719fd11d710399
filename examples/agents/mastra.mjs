import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { guardFor } from 'legate/agents';
import { z } from 'zod';
import { deleteNote, readNote } from './notes.ts';

const inputSchema = z.object({ name: z.string() });
const tools = {
  readNote: createTool({ id: 'readNote', description: 'Reads a note', inputSchema, execute: readNote }),
  deleteNote: createTool({ id: 'deleteNote', description: 'Deletes a note', inputSchema, execute: deleteNote }),
};
const instructions = 'You keep the notes.';

export function run(legate, agent, model, prompt) {
  const guard = guardFor(legate, { agent, app: 'notes' });
  const hooks = guard.mastraHooks();
  return new Agent({ id: 'notes', name: 'notes', instructions, model, tools, hooks }).generate(prompt);
}
