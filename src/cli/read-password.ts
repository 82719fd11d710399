import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { UsageError } from './command.ts';

const withoutLastNewline = (content: string): string => content.replace(/\r?\n$/, '');

/**
 * Reads a password from a file, from a pipe, or from the terminal without showing it. Never from an argument, because
 * every user of the machine can see arguments.
 */
export async function readPassword(file: string | undefined): Promise<string> {
  if (file !== undefined) {
    try {
      return withoutLastNewline(readFileSync(file, 'utf8'));
    } catch {
      throw new UsageError(`${file} cannot be read.`);
    }
  }
  if (!process.stdin.isTTY) return withoutLastNewline(await text(process.stdin));
  process.stderr.write('Password: ');
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const prompt = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  try {
    return await prompt.question('');
  } finally {
    prompt.close();
    process.stderr.write('\n');
  }
}
