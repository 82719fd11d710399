import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authenticator, Proof } from '../../access/authenticate.ts';
import { visibilityOf } from '../../access/visibility.ts';
import {
  AUTHORIZE_BODY_LIMIT,
  type AuthorizeAnswer,
  AuthorizeBody,
  assertAgentNamed,
  authorize,
  parseSimpleAuthorize,
} from '../../authorization/permissions/index.ts';
import { LegateError } from '../../kernel/errors.ts';
import { parseJson, parseWith } from '../../kernel/json.ts';
import type { Platform } from '../../platform.ts';
import { decodeBody, isJson } from '../app.ts';
import { clientAddress, parseTrustedProxies } from '../client-address.ts';
import { renderError } from '../render-error.ts';
import { writeJson } from './write-json.ts';

const mayCheck = { scope: 'authorize', resource: 'legate:authorize', action: 'check', self: true } as const;

/**
 * POST /authorize straight on node:http, for a Bearer credential and a JSON body of stated length. It skips the Request and
 * Response objects and the router, which cost more than the decision; schema, decision, ledger and errors are those of the
 * declared route. Whatever does not fit here is left to that route.
 */
export function fastAuthorize(
  platform: Platform,
  authenticator: Authenticator,
  path: string,
  observe: (route: string, status: number) => void,
): (req: IncomingMessage, res: ServerResponse) => boolean {
  const trusted = parseTrustedProxies(platform.config.http.trustedProxies);
  const routeName = `POST ${path}`;

  const answer = async (
    req: IncomingMessage,
    res: ServerResponse,
    authorization: string,
    startedAt: number,
    bytes: Buffer,
  ): Promise<void> => {
    let proof: Proof | undefined;
    try {
      const proving: Proof | Promise<Proof> = authenticator.cachedBearer(authorization, req.socket);
      proof = proving instanceof Promise ? await proving : proving;
      const { principal } = proof;
      // An agent is checked under the ledger's lock; people and access tokens are held against scopes here.
      if (principal.kind !== 'agent') await visibilityOf(platform, principal, mayCheck);
      const json = decode(bytes);
      const parsed = parseJson(json);
      const body = parseSimpleAuthorize(json, parsed) ?? parseWith(AuthorizeBody, parsed);
      assertAgentNamed(principal.kind, body);
      const asker = {
        principal,
        epoch: proof.epoch,
        reauthenticate: proof.reauthenticate,
        ip: clientAddress(
          req.socket.remoteAddress ?? null,
          (req.headers['x-forwarded-for'] as string | undefined) ?? null,
          trusted,
        ),
        userAgent: req.headers['user-agent']?.slice(0, 512) ?? null,
        startedAt,
      };
      const decided = await authorize(platform, asker, body);
      writeJson(res, 200, render(decided));
      observe(routeName, 200);
    } catch (error) {
      const { status, headers, body } = renderError(platform, proof ? await overruled(error, proof) : error);
      res.writeHead(status, { ...headers, 'content-length': String(Buffer.byteLength(body)) });
      res.end(body);
      observe(routeName, status);
    }
  };

  /** A credential from memory may have ended: then that is the answer, and not what is wrong with the question. */
  const overruled = async (error: unknown, proof: Proof): Promise<unknown> => {
    if (!(error instanceof LegateError) || error.status >= 500 || error.status === 401) return error;
    return proof.reauthenticate(platform.database.read).then(
      () => error,
      (ended: unknown) => ended,
    );
  };

  return (req, res) => {
    if (req.method !== 'POST' || req.url !== path) return false;
    const { headers } = req;
    const { authorization } = headers;
    const length = Number(headers['content-length']);
    if (
      authorization === undefined ||
      !authenticator.isOurs(authorization) ||
      !(length >= 0) ||
      length > AUTHORIZE_BODY_LIMIT ||
      !isJson(headers['content-type']) ||
      headers['content-encoding'] !== undefined ||
      // A page of a trusted origin is told by the declared route that it may read the answer.
      headers.origin !== undefined ||
      repeatsHeader(req.rawHeaders)
    )
      return false;
    const startedAt = performance.now();
    let whole: Buffer | undefined;
    let parts: Buffer[] | undefined;
    req.on('data', (chunk: Buffer) => {
      if (!whole) whole = chunk;
      else {
        parts ??= [whole];
        parts.push(chunk);
      }
    });
    req.on('end', () => {
      void answer(req, res, authorization, startedAt, parts ? Buffer.concat(parts) : (whole ?? Buffer.alloc(0)));
    });
    return true;
  };
}

/** U+FFFD may come from broken UTF-8, and a byte order mark is no part of the text: both are for the strict decoder of the declared route. */
function decode(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return text.includes('\ufffd') || text.charCodeAt(0) === 0xfeff ? decodeBody(bytes) : text;
}

/** Whether a header that decides here is there twice. Node would keep the first; the declared route refuses both. */
function repeatsHeader(raw: readonly string[]): boolean {
  let credentials = 0;
  let types = 0;
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string;
    if (name.length === 13 && name.toLowerCase() === 'authorization') credentials++;
    else if (name.length === 12 && name.toLowerCase() === 'content-type') types++;
  }
  return credentials > 1 || types > 1;
}

/** The common answers hold nothing that JSON would escape. */
function render(answer: AuthorizeAnswer): string {
  if (answer.allowed && answer.auditId !== undefined && answer.trace === undefined)
    return `{"allowed":true,"auditId":"${answer.auditId}"}`;
  return JSON.stringify(answer);
}
