import { type Command, EXIT_USAGE, UsageError } from './command.ts';
import { examine } from './doctor/examine.ts';
import { openLoopback } from './doctor/loopback.ts';
import { renderStep } from './doctor/report.ts';

interface Values {
  url?: string;
  token?: string;
  'client-id'?: string;
  'client-secret'?: string;
  'no-login'?: boolean;
  wait?: string;
}

const WAIT_S = 300;

/** `legate doctor <url>`: tests the login of any MCP server, from 401 to a call, step by step. */
export const command: Command<Values> = {
  argument: { name: 'url', meaning: 'URL of the MCP server, as configured in clients' },
  options: {
    token: { type: 'string', value: 'token', meaning: 'an existing access token, to skip the login' },
    'client-id': { type: 'string', value: 'id', meaning: 'an already registered client' },
    'client-secret': { type: 'string', value: 'secret', meaning: 'its secret, if it has one' },
    'no-login': { type: 'boolean', meaning: 'skip the steps that need a person' },
    wait: { type: 'string', value: 'seconds', meaning: `how long to wait for the login (${WAIT_S})` },
  },
  run: async ({ url, token, 'client-id': clientId, 'client-secret': clientSecret, 'no-login': noLogin, wait }) => {
    if (url === undefined || !URL.canParse(url) || !/^https?:\/\//.test(url))
      throw new UsageError(
        'npx legate doctor needs the URL of an MCP server, such as https://mcp.example.com/mcp',
        EXIT_USAGE,
      );
    const seconds = wait === undefined ? WAIT_S : Number(wait);
    if (!Number.isInteger(seconds) || seconds < 1)
      throw new UsageError('--wait must be a whole number of seconds', EXIT_USAGE);
    const say = (text: string): void => void process.stdout.write(`${text}\n`);
    const loopback = await openLoopback();
    try {
      const login = async (address: string): Promise<URLSearchParams> => {
        say(`\n  Open this URL in a browser, sign in, and allow access:\n  ${address}\n`);
        return loopback.wait(seconds * 1000).catch((error: Error) => {
          throw new UsageError(error.message);
        });
      };
      const reports = await examine({
        server: url,
        token,
        clientId,
        clientSecret,
        redirectUri: loopback.redirectUri,
        login: noLogin ? undefined : login,
        say: (report) => say(renderStep(report)),
      });
      const broken = reports.filter((report) => report.outcome === 'broken').length;
      if (broken > 0) throw new UsageError(`\n${broken === 1 ? 'One step failed' : `${broken} steps failed`}.`);
      say(
        reports.some((report) => report.outcome === 'skipped' && report.step === 'call')
          ? '\nNo problem in the steps that were tested.'
          : '\nAn MCP client can log in and call tools.',
      );
    } finally {
      await loopback.close();
    }
  },
};
