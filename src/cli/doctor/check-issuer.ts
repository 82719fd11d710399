import { addressProblem, isTexts } from './check-resource.ts';
import { type Ask, documentProblem, isObject, type Seen } from './http.ts';
import { Findings, type StepReport, shown } from './report.ts';

const RFC8414 = 'RFC 8414, section';

export interface Issuer {
  readonly issuer: string;
  readonly authorize: string;
  readonly token: string;
  readonly register: string | undefined;
  /** The authorization response contains `iss` (RFC 9207). */
  readonly sendsIss: boolean;
}

/** Step 4: reads the metadata of the issuer (RFC 8414) from the places where MCP clients look, in their order. */
export async function checkIssuerMetadata(
  ask: Ask,
  issuer: string,
): Promise<{ report: StepReport; found: Issuer | undefined }> {
  const f = new Findings();
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const places = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    ...(path === '' ? [] : [`${origin}${path}/.well-known/openid-configuration`]),
  ];
  const tried: Seen[] = [];
  let answer: Seen | undefined;
  for (const place of places) {
    answer = await ask(place);
    tried.push(answer);
    if (answer.status === 200 || answer.status >= 500) break;
  }
  const found = answer as Seen;
  const problem = documentProblem(found);
  if (problem || !isObject(found.json)) {
    const where = tried.length > 1 ? `${places[0]} and ${tried.length - 1} more` : found.url;
    f.broken(problem?.field ?? 'body', `${problem?.problem ?? 'is not a JSON object'} (${where})`, `${RFC8414} 3`);
    return { report: f.report('issuer metadata', found.url), found: undefined };
  }
  const m = found.json;
  if (m['issuer'] !== issuer)
    f.broken('issuer', `is ${shown(m['issuer'])}, but must be ${shown(issuer)}, byte for byte`, `${RFC8414} 3.3`);
  for (const endpoint of ['authorization_endpoint', 'token_endpoint'] as const) {
    const wrong = addressProblem(m[endpoint]);
    if (wrong) f.broken(endpoint, wrong, `${RFC8414} 2`);
  }
  const needs = (field: string, value: string, source: string): void => {
    const list = m[field];
    if (!isTexts(list) || !list.includes(value))
      f.broken(field, `is ${shown(list)}, but must contain ${shown(value)}`, source);
  };
  needs('response_types_supported', 'code', `${RFC8414} 2`);
  needs('code_challenge_methods_supported', 'S256', 'MCP authorization, authorization code protection');
  // The default is authorization_code and implicit.
  if (m['grant_types_supported'] !== undefined) needs('grant_types_supported', 'authorization_code', `${RFC8414} 2`);
  const methods = m['token_endpoint_auth_methods_supported'];
  if (!isTexts(methods) || !methods.includes('none'))
    f.advice(
      'token_endpoint_auth_methods_supported',
      `is ${shown(methods)}, without "none": several clients will not use client ID metadata documents`,
      `${RFC8414} 2`,
    );
  const register = m['registration_endpoint'];
  if (register !== undefined && addressProblem(register))
    f.broken('registration_endpoint', addressProblem(register) as string, `${RFC8414} 2`);
  if (register === undefined && m['client_id_metadata_document_supported'] !== true)
    f.broken(
      'registration_endpoint',
      'is missing, and client_id_metadata_document_supported is not true: unknown clients cannot connect',
      'MCP authorization, client registration',
    );
  else if (m['client_id_metadata_document_supported'] !== true)
    f.advice(
      'client_id_metadata_document_supported',
      'is not true, although current clients prefer these documents to registration',
      'MCP authorization 2025-11-25, client ID metadata documents',
    );
  const sendsIss = m['authorization_response_iss_parameter_supported'] === true;
  if (!sendsIss)
    f.advice(
      'authorization_response_iss_parameter_supported',
      'is not true, so clients cannot detect a mix-up of authorization servers',
      'RFC 9207; MCP authorization 2026-07-28',
    );
  const usable =
    typeof m['authorization_endpoint'] === 'string' &&
    typeof m['token_endpoint'] === 'string' &&
    !addressProblem(m['authorization_endpoint']) &&
    !addressProblem(m['token_endpoint']);
  return {
    report: f.report('issuer metadata', found.url),
    found: usable
      ? {
          issuer,
          authorize: m['authorization_endpoint'] as string,
          token: m['token_endpoint'] as string,
          register: typeof register === 'string' ? register : undefined,
          sendsIss,
        }
      : undefined,
  };
}

/** Step 5: registers a public client with a loopback redirect URI (RFC 7591). */
export async function checkRegistration(
  ask: Ask,
  endpoint: string,
  redirectUri: string,
): Promise<{ report: StepReport; client: { id: string; secret: string | undefined } | undefined }> {
  const f = new Findings();
  const answer = await ask(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({
      client_name: 'legate doctor',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    }),
  });
  const seen = `POST ${endpoint}: ${answer.status}`;
  const json = isObject(answer.json) ? answer.json : undefined;
  if (answer.status !== 201) {
    const why = json?.['error'] === undefined ? '' : ` (${shown(json['error'])}: ${shown(json['error_description'])})`;
    f.broken('status', `is ${answer.status}${why}, but must be 201`, 'RFC 7591, section 3.2.1');
  }
  if (!json) {
    if (!f.isBroken) f.broken('body', 'is not a JSON object', 'RFC 7591, section 3.2.1');
    return { report: f.report('registration', seen), client: undefined };
  }
  const { client_id: id, client_secret: secret, redirect_uris: uris, client_secret_expires_at: expires } = json;
  if (answer.status < 400) {
    if (typeof id !== 'string' || id === '')
      f.broken('client_id', `is ${shown(id)}, but must be a string`, 'RFC 7591, section 3.2.1');
    if (!isTexts(uris) || !uris.includes(redirectUri))
      f.broken(
        'redirect_uris',
        `is ${shown(uris)}, but must contain ${shown(redirectUri)}; the official SDK refuses other answers`,
        'RFC 7591, section 3.2.1',
      );
    if (secret !== undefined && typeof expires !== 'number')
      f.broken(
        'client_secret_expires_at',
        `is ${shown(expires)}, but must be a number if there is a client_secret`,
        'RFC 7591, section 3.2.1',
      );
  }
  return {
    report: f.report('registration', seen),
    client:
      typeof id === 'string' && id !== '' && answer.status < 400
        ? { id, secret: typeof secret === 'string' ? secret : undefined }
        : undefined,
  };
}
