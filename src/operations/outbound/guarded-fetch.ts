import { request as httpRequest, type IncomingMessage } from 'node:http';
import { isIP, type LookupFunction, connect as netConnect } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as tlsConnect } from 'node:tls';
import { whyNotPublic } from './public-address.ts';
import { nameResolver } from './resolve-name.ts';

export type GuardedFetchProblem =
  | 'url_refused'
  | 'address_refused'
  | 'name_not_resolved'
  | 'connection_failed'
  /** The server does not speak TLS, or its certificate is untrusted, expired or for another name. */
  | 'tls_failed'
  /** The answer is not an HTTP response. */
  | 'response_invalid'
  | 'timeout'
  | 'body_too_large'
  | 'encoding_refused';

/**
 * Why there is no response. The message is for the log only: it would reveal the network to the client that chose the
 * URL.
 */
export class GuardedFetchError extends Error {
  readonly problem: GuardedFetchProblem;
  constructor(problem: GuardedFetchProblem, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'GuardedFetchError';
    this.problem = problem;
  }
}

/** The target of a connection. Only these checked addresses are used, whatever the name resolves to later. */
export interface Target {
  readonly hostname: string;
  readonly port: number;
  readonly secure: boolean;
  readonly addresses: readonly string[];
}

export interface GuardedFetchOptions {
  /** Also allows private and special-use addresses, and `http:`. */
  readonly allowPrivateNetworks?: boolean;
  /** Returns all addresses of a name. */
  readonly resolve?: (hostname: string) => Promise<readonly string[]>;
  readonly connect?: (target: Target) => Duplex;
}

export interface GuardedRequest {
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** From the look-up of the name to the last byte of the response, in ms. */
  readonly timeoutMs?: number;
  /** Largest response body in bytes. */
  readonly maxBytes?: number;
  /**
   * What happens to a larger body: `refuse` (default), or `cut` for callers that do not read it; any content coding is
   * then accepted.
   */
  readonly overflow?: 'refuse' | 'cut';
}

export interface GuardedResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

export type GuardedFetch = (url: string | URL, request?: GuardedRequest) => Promise<GuardedResponse>;

const TIMEOUT_MS = 5000;
const MAX_BYTES = 65_536;
const MAX_HEADER_BYTES = 16_384;
/** Maximum number of bytes until the end of the headers, informational responses and empty lines included. */
const MAX_BYTES_TO_HEADERS = 65_536;
/**
 * Maximum number of bytes of a whole response, chunk sizes included: a multiple of the largest body, for one in short
 * chunks, and what a socket reads in advance of a body that is then cut.
 */
const maxBytesInAll = (maxBytes: number): number => 8 * maxBytes + 4 * MAX_BYTES_TO_HEADERS;
const MAX_ADDRESSES = 16;

/**
 * Creates a fetch for client-supplied URLs, safe against server-side request forgery. Only https without userinfo.
 * Every resolved address is checked, and only checked addresses are connected to, so DNS rebinding has no effect. Each
 * request has its own connection. Redirects are not followed: a 3xx is returned like any other response. No content
 * coding, a maximum size of the body and of all that the server sends, and one time limit for everything. Rejects only
 * with {@link GuardedFetchError}.
 */
export function createGuardedFetch(options: GuardedFetchOptions = {}): GuardedFetch {
  const { allowPrivateNetworks = false, connect = connectTo } = options;
  // Names that need a search domain belong to a private network.
  const { resolve = nameResolver({ searchDomains: allowPrivateNetworks }) } = options;
  return async (address, request = {}) => {
    const url = parseUrl(address, allowPrivateNetworks);
    const limit = timeLimit(request.timeoutMs ?? TIMEOUT_MS);
    try {
      const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1');
      const addresses = isIP(hostname) ? [hostname] : await limit.within(named(resolve, hostname));
      if (!allowPrivateNetworks) for (const each of addresses) assertPublic(each);
      const secure = url.protocol === 'https:';
      const target: Target = { hostname, port: Number(url.port || (secure ? 443 : 80)), secure, addresses };
      return await exchange(url, () => connect(target), request, limit);
    } finally {
      limit.clear();
    }
  };
}

function parseUrl(address: string | URL, allowHttp: boolean): URL {
  const url = URL.canParse(String(address)) ? new URL(String(address)) : undefined;
  if (!url) throw new GuardedFetchError('url_refused', 'not an absolute URL');
  if (url.protocol !== 'https:' && !(allowHttp && url.protocol === 'http:'))
    throw new GuardedFetchError('url_refused', `scheme ${url.protocol} is not allowed`);
  if (url.username !== '' || url.password !== '')
    throw new GuardedFetchError('url_refused', 'a URL with userinfo is not allowed');
  return url;
}

function assertPublic(address: string): void {
  const reason = whyNotPublic(address);
  if (reason !== undefined)
    throw new GuardedFetchError('address_refused', `${address} is not a public address (${reason})`);
}

async function named(
  resolve: (hostname: string) => Promise<readonly string[]>,
  hostname: string,
): Promise<readonly string[]> {
  let addresses: readonly string[];
  try {
    addresses = await resolve(hostname);
  } catch (error) {
    throw new GuardedFetchError('name_not_resolved', `${hostname} does not resolve`, error);
  }
  if (addresses.length === 0 || addresses.length > MAX_ADDRESSES)
    throw new GuardedFetchError('name_not_resolved', `${hostname} has ${addresses.length} addresses`);
  return addresses;
}

/** Connects to the checked address that answers first. The name is used only for the certificate check. */
function connectTo({ hostname, port, secure, addresses }: Target): Duplex {
  const pinned = addresses.map((address) => ({ address, family: isIP(address) }));
  const lookupPinned: LookupFunction = (_name, o, done) => {
    const first = pinned[0] as { address: string; family: number };
    if (o.all) done(null, pinned);
    else done(null, first.address, first.family);
  };
  const common = { host: hostname, port, autoSelectFamily: true, lookup: lookupPinned };
  return secure ? tlsConnect({ ...common, ...(isIP(hostname) ? {} : { servername: hostname }) }) : netConnect(common);
}

interface TimeLimit {
  readonly within: <T>(work: Promise<T>) => Promise<T>;
  readonly clear: () => void;
}

function timeLimit(ms: number): TimeLimit {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new GuardedFetchError('timeout', `no complete response within ${ms} ms`)), ms);
  });
  over.catch(() => {});
  return { within: (work) => Promise.race([work, over]), clear: () => clearTimeout(timer) };
}

async function exchange(
  url: URL,
  connect: () => Duplex,
  o: GuardedRequest,
  limit: TimeLimit,
): Promise<GuardedResponse> {
  let socket: Duplex | undefined;
  try {
    socket = connect();
    // Errors before the last needed byte reach the caller through the response. Later ones are ignored.
    socket.on('error', () => {});
    const { maxBytes = MAX_BYTES, overflow = 'refuse' } = o;
    const response = await limit.within(send(url, socket, o, maxBytesInAll(maxBytes)));
    const coding = response.headers['content-encoding'] ?? 'identity';
    if (coding !== 'identity' && overflow === 'refuse')
      throw new GuardedFetchError('encoding_refused', `content-encoding ${coding}`);
    const body = await limit.within(readBody(response, maxBytes, overflow));
    return { status: response.statusCode ?? 0, headers: headersOf(response), body };
  } catch (error) {
    if (error instanceof GuardedFetchError) throw error;
    throw new GuardedFetchError(
      problemOf(error),
      error instanceof Error ? error.message : 'the connection failed',
      error,
    );
  } finally {
    socket?.destroy();
  }
}

/** Classifies an error by its Node code: HTTP parser (HPE_...), TLS or certificate check. */
function problemOf(error: unknown): GuardedFetchProblem {
  const code = String((error as { code?: unknown } | undefined)?.code ?? '');
  if (code.startsWith('HPE_')) return 'response_invalid';
  return /^(ERR_TLS_|ERR_SSL_|EPROTO$|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH$)/.test(code)
    ? 'tls_failed'
    : 'connection_failed';
}

function send(url: URL, socket: Duplex, o: GuardedRequest, maxReceived: number): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const body = o.body === undefined ? undefined : Buffer.from(o.body as string);
    const request = httpRequest({
      createConnection: () => socket,
      method: o.method ?? 'GET',
      path: `${url.pathname}${url.search}`,
      headers: {
        'accept-encoding': 'identity',
        ...o.headers,
        host: url.host,
        connection: 'close',
        ...(body === undefined ? {} : { 'content-length': String(body.byteLength) }),
      },
      maxHeaderSize: MAX_HEADER_BYTES,
      insecureHTTPParser: false,
    });
    let response: IncomingMessage | undefined;
    request.on('response', (begun) => {
      response = begun;
      resolve(begun);
    });
    let received = 0;
    // The parser of the request has its listener already and handles each chunk first.
    request.on('socket', () =>
      socket.on('data', (chunk: Buffer) => {
        received += chunk.byteLength;
        if (response === undefined && received > MAX_BYTES_TO_HEADERS)
          request.destroy(new GuardedFetchError('response_invalid', 'the server sends no headers, but much else'));
        else if (received > maxReceived)
          response?.destroy(new GuardedFetchError('body_too_large', `the response has more than ${maxReceived} bytes`));
      }),
    );
    request.on('upgrade', () =>
      reject(new GuardedFetchError('response_invalid', 'the server requires another protocol')),
    );
    request.on('error', reject);
    request.end(body);
  });
}

async function readBody(response: IncomingMessage, maxBytes: number, overflow: 'refuse' | 'cut'): Promise<Uint8Array> {
  const tooLarge = (): GuardedFetchError =>
    new GuardedFetchError('body_too_large', `the response is larger than ${maxBytes} bytes`);
  if (overflow === 'refuse' && Number(response.headers['content-length'] ?? 0) > maxBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    chunks.push(chunk);
    if (size <= maxBytes) continue;
    if (overflow === 'refuse') throw tooLarge();
    break;
  }
  return new Uint8Array(Buffer.concat(chunks).subarray(0, maxBytes));
}

function headersOf(response: IncomingMessage): Headers {
  const headers = new Headers();
  for (let i = 0; i + 1 < response.rawHeaders.length; i += 2)
    headers.append(response.rawHeaders[i] as string, response.rawHeaders[i + 1] as string);
  return headers;
}
