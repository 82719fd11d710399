import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { SECOND_MS } from '../kernel/clock.ts';
import { type Command, EXIT_USAGE, UsageError } from './command.ts';
import { storeLogin, toLogin } from './login/credentials.ts';
import { fetchJson, postForm, refused, TokenSet } from './login/token-request.ts';
import { lastAddress, readSettings } from './settings.ts';

interface Values {
  url?: string;
  scope?: string;
  'client-id'?: string;
}

const TOO_MANY_REQUESTS = 429;
/** Longest time between two requests because of failures. */
const MAX_INTERVAL_S = 30;
const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';
/** The scopes that `seed` and `test` need. The person may tick fewer. */
const DEFAULT_SCOPE = 'agents:read agents:write delegations:read delegations:write audit:read authorize';

const Metadata = z.object({
  issuer: z.string(),
  token_endpoint: z.string(),
  device_authorization_endpoint: z.string(),
  registration_endpoint: z.string().optional(),
});
const Device = z.object({
  device_code: z.string(),
  user_code: z.string(),
  verification_uri: z.string(),
  verification_uri_complete: z.string().optional(),
  expires_in: z.number(),
  interval: z.number().default(5),
});

/** `legate login`: gets a token by the device authorization grant (RFC 8628, contract 23.6) and stores it. */
export const command: Command<Values> = {
  options: {
    url: {
      type: 'string',
      value: 'address',
      meaning: 'address of the service; by default the one last started in this folder',
    },
    scope: { type: 'string', value: 'names', meaning: `scopes to request; by default ${DEFAULT_SCOPE}` },
    'client-id': {
      type: 'string',
      value: 'id',
      meaning: 'id of a registered client, if the service does not let clients register',
    },
  },
  notes: 'Commands with --url use the stored token if --token is missing. You can end it at /account/apps.',
  run: async ({ url, scope = DEFAULT_SCOPE, 'client-id': clientId }) => {
    const address = url ?? addressOfThisFolder();
    if (!URL.canParse(address))
      throw new UsageError('--url needs an address such as http://localhost:3000.', EXIT_USAGE);
    const metadata = await readMetadata(address);
    const client = clientId ?? (await register(metadata));
    const started = await postForm(metadata.device_authorization_endpoint, { client_id: client, scope });
    if (!started.ok) throw refused('start the login', started.body);
    const device = Device.parse(started.body);
    process.stderr.write(
      `Open ${device.verification_uri_complete ?? device.verification_uri}\n` +
        `and check that the page shows the code ${device.user_code}.\n`,
    );
    const tokens = await waitForTokens(metadata.token_endpoint, client, device);
    const path = await storeLogin(
      address,
      toLogin({ clientId: client, tokenEndpoint: metadata.token_endpoint }, tokens),
    );
    process.stdout.write(`Logged in to ${metadata.issuer}. The token is in ${path}.\n`);
  },
};

function addressOfThisFolder(): string {
  const { values } = readSettings();
  const configured = (values.baseUrl ?? `http://localhost:${values.http.port}`) + values.http.restPath;
  return lastAddress(values.dataDir) ?? configured;
}

async function readMetadata(address: string): Promise<z.output<typeof Metadata>> {
  const { ok, body } = await fetchJson(new URL('/.well-known/oauth-authorization-server', address).href);
  const metadata = Metadata.safeParse(body);
  if (!ok || !metadata.success) throw new UsageError(`${address} has no device authorization endpoint.`);
  return metadata.data;
}

/** Registers this program as a new client for each login, so that each login can be ended separately. */
async function register({ registration_endpoint }: z.output<typeof Metadata>): Promise<string> {
  if (registration_endpoint === undefined)
    throw new UsageError(
      `The service does not let clients register. Pass --client-id of a client with the grant type ${DEVICE_CODE}.`,
    );
  const { ok, body } = await fetchJson(registration_endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: `Legate on ${hostname()}`.slice(0, 200),
      redirect_uris: [],
      grant_types: [DEVICE_CODE, 'refresh_token'],
      token_endpoint_auth_method: 'none',
    }),
  });
  if (!ok || typeof body['client_id'] !== 'string') throw refused('register a client', body);
  return body['client_id'];
}

/** Asks until the person has answered. If the service is limited or out of reach, asks less often (RFC 8628, 3.5). */
async function waitForTokens(endpoint: string, client: string, device: z.output<typeof Device>): Promise<TokenSet> {
  let { interval } = device;
  let failure: unknown;
  for (let waited = 0; waited < device.expires_in; waited += interval) {
    await sleep(interval * SECOND_MS);
    const form = { grant_type: DEVICE_CODE, device_code: device.device_code, client_id: client };
    const answer = await postForm(endpoint, form).catch((error: unknown) => {
      failure = error;
    });
    if (answer?.ok) return TokenSet.parse(answer.body);
    const error = answer?.body['error'];
    if (error === 'authorization_pending' || error === 'slow_down') {
      failure = undefined;
      if (error === 'slow_down') interval += 5;
    } else {
      if (answer) failure = refused('log in', answer.body);
      if (answer && answer.status < 500 && answer.status !== TOO_MANY_REQUESTS) throw failure;
      interval = Math.max(interval, Math.min(2 * interval, MAX_INTERVAL_S));
    }
  }
  throw failure ?? new UsageError('Nobody answered the request in time. Try again.');
}
