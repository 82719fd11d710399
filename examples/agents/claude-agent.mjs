import { createSdkMcpServer, query, tool } from '@anthropic-ai/claude-agent-sdk';
import { guardFor } from 'legate/agents';
import { z } from 'zod';
import { deleteNote, readNote } from './notes.ts';

const shape = { name: z.string() };
const text = (value) => ({ content: [{ type: 'text', text: value }] });
const tools = [
  tool('readNote', 'Reads a note', shape, async (input) => text(readNote(input))),
  tool('deleteNote', 'Deletes a note', shape, async (input) => text(deleteNote(input))),
];

export function run(legate, agent, options, prompt) {
  const guard = guardFor(legate, { agent, app: 'notes' });
  const mcpServers = { notes: createSdkMcpServer({ name: 'notes', tools }) };
  return query({ prompt, options: { ...options, mcpServers, hooks: guard.claudeHooks() } });
}
