import { Agent, type Model, run as runAgent, tool } from '@openai/agents-core';
import { type GuardedLegate, guardFor } from 'legate/agents';
import { z } from 'zod';
import { deleteNote, readNote } from './notes.ts';

const parameters = z.object({ name: z.string() });

export function run(legate: GuardedLegate, agent: string, model: Model, prompt: string) {
  const guard = guardFor(legate, { agent, app: 'notes' });
  const inputGuardrails = [guard.openaiGuardrail()];
  const tools = [
    tool({ name: 'readNote', description: 'Reads a note', parameters, execute: readNote, inputGuardrails }),
    tool({ name: 'deleteNote', description: 'Deletes a note', parameters, execute: deleteNote, inputGuardrails }),
  ];
  return runAgent(new Agent({ name: 'notes', instructions: 'You tidy up.', model, tools }), prompt);
}
