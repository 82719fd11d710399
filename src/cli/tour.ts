import { type Command, EXIT_USAGE, UsageError } from './command.ts';
import { developerToken } from './developer-token.ts';
import { lastAddress, readSettings } from './settings.ts';
import { runTour } from './tour/run.ts';

const TIMEOUT_MS = 10_000;

/** `legate tour`: runs the README's tour against a running service and explains each answer. */
export const command: Command<{ url?: string; token?: string }> = {
  options: {
    url: {
      type: 'string',
      value: 'address',
      meaning: 'address of the service; by default the one last started in this folder',
    },
    token: {
      type: 'string',
      value: 'token',
      meaning: "a person's API or session token; a developer token by default",
    },
  },
  run: async ({ url, token }) => {
    if (url !== undefined && !URL.canParse(url))
      throw new UsageError('--url needs an address such as http://localhost:3000.', EXIT_USAGE);
    const settings = readSettings();
    const { values } = settings;
    const configured = (values.baseUrl ?? `http://localhost:${values.http.port}`) + values.http.restPath;
    const baseUrl = (url ?? lastAddress(values.dataDir) ?? configured).replace(/\/$/, '');
    await assertRunning(baseUrl);
    const wrong = await runTour({
      baseUrl,
      token: token ?? (await developerToken(settings)),
      say: (text) => process.stdout.write(`${text}\n`),
    });
    if (wrong > 0)
      throw new UsageError(`${wrong} ${wrong === 1 ? 'answer differs' : 'answers differ'} from what the tour expects.`);
    process.stdout.write(`\nEvery endpoint: ${baseUrl}/docs\n`);
  },
};

async function assertRunning(baseUrl: string): Promise<void> {
  const response = await fetch(`${baseUrl}/health/live`, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(() => null);
  if (response === null)
    throw new UsageError(
      `Nothing answers at ${baseUrl}. Start the service in another terminal (npm start, or npx legate serve), or set ` +
        'its address with --url.',
    );
  if (!response.ok)
    throw new UsageError(
      `${baseUrl} is not the address of a service: GET /health/live answers ${response.status}. Set the address with ` +
        '--url.',
    );
}
