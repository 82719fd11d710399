import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll } from 'vitest';
import type { Json } from './service.ts';

/** An account at GitHub. */
export interface GitHubAccount {
  readonly id: number;
  readonly login: string;
  readonly name: string | null;
  readonly emails: readonly { readonly email: string; readonly primary: boolean; readonly verified: boolean }[];
}

/** The parts of a GitHub Enterprise Server that sign-in uses, with the responses that GitHub documents. */
export interface TestGitHub {
  /** The address that the preset expects as the issuer. */
  readonly issuer: string;
  account: GitHubAccount;
  /** The scopes that the person grants. */
  granted: string;
  /** Responses of the API that replace the usual ones, by path. */
  readonly answers: Record<string, readonly [status: number, body: unknown]>;
  /** Headers of the requests to the API. */
  readonly asked: IncomingMessage['headers'][];
  /** Opens a page of GitHub as a person who agrees. Returns the callback, as path and query. */
  agree(page: URL): Promise<string>;
}

const CODE_ERROR = {
  error: 'bad_verification_code',
  error_description: 'The code passed is incorrect or expired.',
  error_uri: 'https://docs.github.com/apps/oauth-apps/troubleshooting',
};

export async function openGitHub(client: { clientId: string; clientSecret: string }): Promise<TestGitHub> {
  const codes = new Map<string, { readonly challenge: string; readonly redirectUri: string }>();
  const tokens = new Set<string>();
  const send = (response: ServerResponse, status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
    response.end(JSON.stringify(body));
  };

  const authorize = ({ searchParams: q }: URL, response: ServerResponse): void => {
    if (q.get('client_id') !== client.clientId || q.get('code_challenge_method') !== 'S256')
      return void send(response, 404, {});
    const code = randomBytes(10).toString('hex');
    const redirectUri = q.get('redirect_uri') ?? '';
    codes.set(code, { challenge: q.get('code_challenge') ?? '', redirectUri });
    const location = `${redirectUri}?${new URLSearchParams({ code, state: q.get('state') ?? '' })}`;
    response.writeHead(302, { location }).end();
  };
  // Errors have status 200:
  // <https://docs.github.com/apps/oauth-apps/maintaining-oauth-apps/troubleshooting-oauth-app-access-token-request-errors>.
  const exchange = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body: Json = Object.fromEntries(new URLSearchParams(await text(request)));
    const known = codes.get(body.code);
    codes.delete(body.code);
    const digest = (value: unknown) => createHash('sha256').update(String(value)).digest();
    if (body.client_id !== client.clientId || !timingSafeEqual(digest(body.client_secret), digest(client.clientSecret)))
      return void send(response, 200, { error: 'incorrect_client_credentials' });
    if (!known || digest(body.code_verifier).toString('base64url') !== known.challenge)
      return void send(response, 200, CODE_ERROR);
    if (body.redirect_uri !== known.redirectUri) return void send(response, 200, { error: 'redirect_uri_mismatch' });
    const access_token = `gho_${randomBytes(18).toString('hex')}`;
    tokens.add(access_token);
    send(response, 200, { access_token, scope: github.granted, token_type: 'bearer' });
  };
  const answerApi = (request: IncomingMessage, path: string, response: ServerResponse): void => {
    github.asked.push(request.headers);
    if (!tokens.has(request.headers.authorization?.replace('Bearer ', '') ?? ''))
      return void send(response, 401, { message: 'Bad credentials' });
    const { id, login, name, emails } = github.account;
    const other = github.answers[path];
    if (other) return void send(response, ...other);
    if (path === '/user') return void send(response, 200, { login, id, type: 'User', name, email: null });
    if (!github.granted.split(',').includes('user:email')) return void send(response, 404, { message: 'Not Found' });
    send(
      response,
      200,
      emails.map((each) => ({ ...each, visibility: each.primary ? 'private' : null })),
    );
  };

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://github');
    if (url.pathname === '/login/oauth/authorize') authorize(url, response);
    else if (url.pathname === '/login/oauth/access_token') void exchange(request, response);
    else if (url.pathname.startsWith('/api/v3/')) answerApi(request, url.pathname.slice('/api/v3'.length), response);
    else send(response, 404, { message: 'Not Found' });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  afterAll(() => new Promise((done) => server.close(() => done(undefined))));
  const github: TestGitHub = {
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}/login/oauth`,
    account: { id: 1, login: 'nobody', name: null, emails: [] },
    granted: 'user:email',
    answers: {},
    asked: [],
    agree: async (page) => {
      const { headers } = await fetch(page, { redirect: 'manual' });
      const to = new URL(headers.get('location') ?? 'none:');
      return to.pathname + to.search;
    },
  };
  return github;
}
