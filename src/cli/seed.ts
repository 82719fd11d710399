import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { type Command, EXIT_USAGE, UsageError } from './command.ts';
import { tokenFor } from './login/credentials.ts';
import { readSeed } from './seed/file.ts';
import { applyPlan, planSeed, renderPlan, type SeededToken, type SeedTarget } from './seed/plan.ts';
import { localTarget, remoteTarget } from './seed/targets.ts';
import { readSettings, useExistingData, withLegate } from './settings.ts';

interface Values {
  file?: string;
  'dry-run'?: boolean;
  url?: string;
  token?: string;
  tokens?: string;
}

/** `legate seed <file>`: creates agents, permissions and delegations from a file (contract 19). */
export const command: Command<Values> = {
  argument: { name: 'file', meaning: 'agents and delegations: YAML, JSON or CSV' },
  options: {
    'dry-run': { type: 'boolean', meaning: 'only show the changes' },
    url: { type: 'string', value: 'address', meaning: 'a running service; by default the database of this folder' },
    token: {
      type: 'string',
      value: 'token',
      meaning:
        "for --url: an administrator's or the owner's API token; by default LEGATE_TOKEN, or the one from npx legate " +
        'login',
    },
    tokens: { type: 'string', value: 'file', meaning: 'new file for the tokens of new agents, readable only by you' },
  },
  run: async ({ file, 'dry-run': dryRun = false, url, token, tokens }) => {
    if (file === undefined)
      throw new UsageError('npx legate seed needs a file. docs/seed.md shows an example.', EXIT_USAGE);
    if (url !== undefined && !URL.canParse(url))
      throw new UsageError('--url needs an address such as http://localhost:3000.', EXIT_USAGE);
    const seed = readSeed(file);
    const work = async (target: SeedTarget): Promise<void> => {
      const plan = await planSeed(seed, target);
      process.stdout.write(`${renderPlan(plan)}\n`);
      if (dryRun) return;
      const creates = plan.agents.some(({ known }) => known === undefined);
      const made = await withTokenFile(creates ? tokens : undefined, () => applyPlan(plan, target));
      process.stdout.write(`Done.${made.length > 0 ? ` ${aboutTokens(made, tokens)}` : ''}\n`);
    };
    if (url !== undefined) return work(remoteTarget(url, await tokenFor(url, token)));
    const settings = readSettings();
    useExistingData(settings);
    return withLegate(settings, (legate) => work(localTarget(legate)));
  },
};

const aboutTokens = (made: readonly SeededToken[], path: string | undefined): string =>
  path === undefined
    ? 'The tokens of the new agents were not saved. Use --tokens to save them; POST /agents/:id/rotate issues new ones.'
    : `${made.length} ${made.length === 1 ? 'token is' : 'tokens are'} in ${path}.`;

/**
 * Opens the file before anything is created, so that no token is lost. It is deleted if it has no tokens. Throws a
 * UsageError if it exists, so that the tokens of an earlier run stay.
 */
async function withTokenFile(path: string | undefined, apply: () => Promise<SeededToken[]>): Promise<SeededToken[]> {
  if (path === undefined) return apply();
  let file: number;
  try {
    file = openSync(path, 'wx', 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(code === 'EEXIST' ? `${path} already exists.` : `${path} cannot be written: ${code}`);
  }
  let made: SeededToken[] = [];
  try {
    made = await apply();
    writeSync(file, `${JSON.stringify(made, null, 2)}\n`);
    return made;
  } finally {
    closeSync(file);
    if (made.length === 0) rmSync(path);
  }
}
