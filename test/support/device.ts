import { form, type Person, register } from './oauth.ts';
import type { Answered, Json, TestService } from './service.ts';

export const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';

/** Registers a client without a redirect URI for the device authorization grant. */
export const deviceClient = (t: TestService, metadata: Json = {}): Promise<Json> =>
  register(t, {
    client_name: 'Television',
    redirect_uris: [],
    grant_types: [DEVICE_CODE, 'refresh_token'],
    token_endpoint_auth_method: 'none',
    ...metadata,
  });

/** Starts the authorization of a device. */
export async function startDevice(
  t: TestService,
  fields: Record<string, string> = {},
  client?: Json,
): Promise<{ client: Json; device: Json }> {
  const used = client ?? (await deviceClient(t));
  const r = await form(t, '/oauth/device_authorization', { client_id: used.client_id, ...fields });
  if (r.status !== 200) throw new Error(`POST /oauth/device_authorization answered ${r.status}: ${r.text}`);
  return { client: used, device: r.body };
}

export const pollDevice = (t: TestService, client: Json, deviceCode: string): Promise<Answered> =>
  form(t, '/oauth/token', { grant_type: DEVICE_CODE, device_code: deviceCode, client_id: client.client_id });

/** Sends the form of the page, by default with all scopes of a default request allowed. */
export const answerDevice = (
  t: TestService,
  person: Person,
  userCode: string,
  fields: Record<string, string> = {},
): Promise<Answered> =>
  form(
    t,
    '/device',
    { user_code: userCode, decision: 'allow', 'scope:mcp:read': 'on', 'scope:mcp:execute': 'on', ...fields },
    { authorization: `Bearer ${person.token}` },
  );

/** Sends a code without a decision. */
export const showDevice = (t: TestService, person: Person, userCode: string): Promise<Answered> =>
  form(t, '/device', { user_code: userCode }, { authorization: `Bearer ${person.token}`, accept: 'text/html' });
