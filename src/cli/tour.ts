import { type Command, UsageError } from './command.ts';
import { developerToken } from './developer-token.ts';
import { lastAddress, readSettings } from './settings.ts';
import { runTour } from './tour/run.ts';

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
  const live = await fetch(`${baseUrl}/health/live`).then(
    (response) => response.ok,
    () => false,
  );
  if (!live)
    throw new UsageError(
      `Nothing answers at ${baseUrl}. Start the service in another terminal (npm start, or npx legate serve), or set ` +
        'its address with --url.',
    );
}
