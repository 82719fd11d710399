import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { UsageError } from './command.ts';

const withoutLastNewline = (content: string): string => content.replace(/\r?\n$/, '');

/** A password from a file, from a pipe, or typed without being shown. Never from an argument: those are seen by every user of the machine. */
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
