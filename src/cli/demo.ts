import { rmSync } from 'node:fs';
import { type Command, EXIT_USAGE, UsageError } from './command.ts';
import { play } from './demo/script.ts';
import { type Demo, newDemoFolder, startDemo } from './demo/start.ts';
import { createLog } from './log.ts';
import { exitOnCrash, stopOnSignals } from './stop.ts';

interface Values {
  rows?: string;
  agents?: string;
  port?: string;
}

/**
 * `legate demo`: a service with people, agents and a history, on loopback, in a folder that is deleted at the end
 * (contract 19). Not available in production or with the user's own data.
 */
export const command: Command<Values> = {
  options: {
    rows: { type: 'string', value: 'number', meaning: 'decisions of the last 30 days; 40000 by default' },
    agents: { type: 'string', value: 'number', meaning: 'agents, at least the 24 of the story' },
    port: { type: 'string', value: 'number', meaning: 'port on 127.0.0.1; any free one by default' },
  },
  run: async ({ rows = '40000', agents = '24', port = '0' }) => {
    const { env } = process;
    if (env['NODE_ENV'] === 'production') throw new UsageError('The demo is not available in production.');
    for (const name of ['LEGATE_DATABASE_URL', 'LEGATE_DATA_DIR'])
      if (env[name] !== undefined)
        throw new UsageError(`The demo uses its own folder and never your data. Unset ${name} first.`);
    const options = {
      rows: wholeNumber('rows', rows, 1_000_000),
      agents: wholeNumber('agents', agents, 10_000, 24),
      port: wholeNumber('port', port, 65_535),
    };
    const log = createLog('error');
    exitOnCrash(log);
    const ending = new AbortController();
    let folder: string | undefined;
    let started: Demo | undefined;
    stopOnSignals({
      drainMs: 0,
      drain: () => {},
      stop: async () => {
        ending.abort();
        if (started) await started.close();
        // The demo was still being made.
        else if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
      },
      log,
    });
    folder = newDemoFolder();
    const demo = await startDemo({ ...options, folder, log });
    started = demo;
    process.stdout.write(
      `Legate demo, ${demo.agents.size} agents, ${options.rows} decisions, ` +
        `ready after ${Math.round(performance.now())} ms.\n\n` +
        `Sign in (works once):  ${demo.signInUrl}\n` +
        `Address:               ${demo.url}   (on this machine only)\n\n` +
        'All data is fictitious and is deleted when you press Ctrl-C. Within ten minutes:\n',
    );
    await play(demo, ending.signal, (text) => {
      if (!ending.signal.aborted) process.stdout.write(`  ${text}\n`);
    });
  },
};

function wholeNumber(name: string, text: string, max: number, min = 0): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= min && number <= max) return number;
  throw new UsageError(`--${name} needs a whole number from ${min} to ${max}.`, EXIT_USAGE);
}
