import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { afterAll } from 'vitest';

type Key = Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];

/** An issuer of tokens with a discovery document and keys, on a loopback port. */
export interface TestIssuer {
  readonly address: string;
  /** The paths that were fetched. */
  readonly fetched: string[];
  /** Members of the discovery document that replace the usual ones. */
  document: Record<string, unknown>;
  /** Further documents, by path; a Buffer is sent as it is. */
  readonly documents: Record<string, unknown>;
  /** Whether it responds with 503. */
  down: boolean;
  /** Runs before each response. */
  beforeResponse: () => Promise<unknown>;
  /** Signs claims with the newest key. Times are those of the claims. */
  sign(claims: JWTPayload, header?: Record<string, unknown>): Promise<string>;
  /** Replaces the key. */
  rotate(): Promise<void>;
}

export async function openIssuer(alg = 'ES256'): Promise<TestIssuer> {
  let kid = 0;
  let key: Key | undefined;
  let jwks: unknown;
  const rotate = async (): Promise<void> => {
    const pair = await generateKeyPair(alg, { extractable: true });
    key = pair.privateKey;
    jwks = { keys: [{ ...(await exportJWK(pair.publicKey)), kid: `key-${++kid}`, alg, use: 'sig' }] };
  };
  await rotate();
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    issuer.fetched.push(request.url ?? '');
    await issuer.beforeResponse();
    const { address } = issuer;
    const documents: Record<string, unknown> = {
      '/.well-known/openid-configuration': { issuer: address, jwks_uri: `${address}/jwks`, ...issuer.document },
      '/jwks': jwks,
      ...issuer.documents,
    };
    const body = issuer.down ? undefined : documents[request.url ?? ''];
    response.writeHead(issuer.down ? 503 : body === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(Buffer.isBuffer(body) ? body : JSON.stringify(body ?? {}));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const issuer: TestIssuer = {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fetched: [],
    document: {},
    documents: {},
    down: false,
    beforeResponse: async () => undefined,
    sign: (claims, header = {}) =>
      new SignJWT({ iss: issuer.address, ...claims })
        .setProtectedHeader({ alg, kid: `key-${kid}`, ...header })
        .sign(key as Key),
    rotate,
  };
  afterAll(() => new Promise((done) => server.close(() => done(undefined))));
  return issuer;
}
