import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { TLSSocket } from 'node:tls';

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 200_000;

export interface Seen {
  readonly status: number;
  /** Names in lower case. Several values of one header are joined by a comma, as clients read them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly cookies: readonly string[];
  readonly body: string;
  /** Present over TLS. */
  readonly tls?: { readonly protocol: string; readonly validTo: Date } | undefined;
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly maxVersion?: 'TLSv1.1';
}

/** Sends a request on a separate connection, without following redirects. Rejects with the error of the connection. */
export function request(url: URL, { method = 'GET', headers = {}, body, maxVersion }: Ask = {}): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const options = {
      method,
      agent: false,
      timeout: TIMEOUT_MS,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }) },
      ...(maxVersion ? { maxVersion, minVersion: 'TLSv1' as const, ciphers: 'DEFAULT@SECLEVEL=0' } : {}),
    };
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const req = send(url, options, (res) => {
      const socket = res.socket as Partial<TLSSocket>;
      const tls = socket.getPeerCertificate && {
        protocol: socket.getProtocol?.() ?? '',
        validTo: new Date(socket.getPeerCertificate().valid_to),
      };
      let text = '';
      res.setEncoding('utf8');
      res.on('data', (chunk: string) => {
        text += chunk;
        if (text.length > MAX_BYTES) req.destroy(new Error(`the answer is larger than ${MAX_BYTES} bytes`));
      });
      res.on('error', reject);
      res.on('end', () =>
        resolve({
          status: res.statusCode ?? 0,
          headers: joined(res.headersDistinct),
          cookies: res.headers['set-cookie'] ?? [],
          body: text,
          tls,
        }),
      );
    });
    req.on('timeout', () => req.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)));
    req.on('error', reject);
    req.end(body);
  });
}

const joined = (headers: NodeJS.Dict<string[]>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, values = []]) => [name, values.join(', ')]));
