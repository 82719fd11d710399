import { type Ask, request, type Seen } from './request.ts';

export interface Finding {
  readonly area: 'reach' | 'TLS' | 'issuer' | 'headers' | 'cookies' | 'proxy';
  readonly level: 'ok' | 'warning' | 'problem';
  readonly text: string;
}

const EXPIRES_SOON_MS = 14 * 24 * 60 * 60 * 1000;
const REQUEST_ID = 'legate-check-0123456789';
/** Documentation addresses (RFC 5737), so that no real client is affected. */
const FORGED = ['192.0.2.10', '192.0.2.20', '192.0.2.30', '192.0.2.40'];

/**
 * Checks a deployment from a client's position (contract 22.9): its TLS, headers, issuer and cookies, and changes by
 * proxies in front of it. Sends about 20 requests without credentials and changes nothing.
 */
export async function checkAddress(address: URL): Promise<Finding[]> {
  const visit = new Visit(address);
  const live = await visit.get('/health/live').catch((error: Error) => error);
  if (live instanceof Error)
    return [{ area: 'reach', level: 'problem', text: `${address.href} cannot be reached: ${reasonOf(live)}.` }];
  await visit.checkReach(live);
  if (visit.findings.some(({ level }) => level === 'problem')) return visit.findings;
  await visit.checkTls(live);
  await visit.checkIssuer();
  await visit.checkHeaders();
  await visit.checkCookies();
  await visit.checkProxies();
  await visit.checkClientAddress();
  return visit.findings;
}

class Visit {
  readonly findings: Finding[] = [];
  readonly #address: URL;
  readonly #isHttps: boolean;

  constructor(address: URL) {
    this.#address = address;
    this.#isHttps = address.protocol === 'https:';
  }

  get(path: string, ask: Ask = {}): Promise<Seen> {
    return request(new URL(this.#address.pathname.replace(/\/$/, '') + path, this.#address), ask);
  }

  async checkReach(live: Seen): Promise<void> {
    if (live.status !== 200 || jsonOf(live)?.['status'] === undefined) {
      this.#problem(
        'reach',
        `GET /health/live answers ${live.status}, but not like Legate: check the address and the path of the proxy.`,
      );
      return;
    }
    const ready = await this.get('/health/ready');
    if (ready.status === 200) this.#ok('reach', 'Legate answers and is ready.');
    else this.#warn('reach', `GET /health/ready answers ${ready.status}: ${ready.body.slice(0, 200)}`);
  }

  async checkTls({ tls }: Seen): Promise<void> {
    if (!this.#isHttps || !tls) {
      const text = 'The address is not https: cookies and tokens are sent unencrypted.';
      if (isLoopback(this.#address)) this.#warn('TLS', `${text} This is acceptable only on this machine.`);
      else this.#problem('TLS', text);
      return;
    }
    const left = tls.validTo.getTime() - Date.now();
    if (left < EXPIRES_SOON_MS)
      this.#warn('TLS', `The certificate expires on ${tls.validTo.toISOString().slice(0, 10)}: renew it.`);
    else this.#ok('TLS', `${tls.protocol}; the certificate is valid until ${tls.validTo.toISOString().slice(0, 10)}.`);
    const old = await this.get('/health/live', { maxVersion: 'TLSv1.1' }).catch(() => undefined);
    if (old) this.#problem('TLS', 'TLS 1.1 or older is accepted: allow TLS 1.2 and 1.3 only (RFC 8996).');
    if (this.#address.port === '') await this.#checkPlainHttp();
  }

  async #checkPlainHttp(): Promise<void> {
    const plain = new URL(this.#address);
    plain.protocol = 'http:';
    plain.pathname = `${plain.pathname.replace(/\/$/, '')}/health/live`;
    const seen = await request(plain).catch(() => undefined);
    if (!seen) this.#ok('TLS', 'Plain http is closed.');
    else if (seen.status >= 300 && seen.status < 400 && seen.headers['location']?.startsWith('https:'))
      this.#ok('TLS', 'Plain http redirects to https.');
    else this.#problem('TLS', `Plain http answers ${seen.status}: redirect it to https, or close the port.`);
  }

  async checkIssuer(): Promise<void> {
    const seen = await this.get('/.well-known/oauth-authorization-server');
    const metadata = jsonOf(seen);
    const issuer = metadata?.['issuer'];
    if (seen.status !== 200 || typeof issuer !== 'string') {
      this.#problem(
        'issuer',
        `GET /.well-known/oauth-authorization-server answers ${seen.status}: the proxy must forward /.well-known/.`,
      );
      return;
    }
    const expected = this.#address.href.replace(/\/$/, '');
    if (issuer.replace(/\/$/, '') !== expected) {
      this.#problem('issuer', `The issuer is ${issuer}, not ${expected}: set LEGATE_BASE_URL to the public address.`);
      return;
    }
    const foreign = Object.entries(metadata ?? {})
      .filter(([name, value]) => /(_endpoint|jwks_uri)$/.test(name) && !String(value).startsWith(this.#address.origin))
      .map(([name]) => name);
    if (foreign.length > 0) this.#problem('issuer', `${foreign.join(', ')}: not at ${expected}.`);
    else this.#ok('issuer', `The issuer is ${issuer}.`);
    const forged = await this.get('/.well-known/oauth-authorization-server', {
      headers: { 'x-forwarded-host': 'elsewhere.example', 'x-forwarded-proto': 'http' },
    });
    if (forged.body.includes('elsewhere.example'))
      this.#problem('issuer', 'The issuer is taken from X-Forwarded-Host, so any client can change it.');
  }

  async checkHeaders(): Promise<void> {
    const before = this.findings.length;
    for (const path of ['/health/live', '/account/sign-in']) {
      const { headers } = await this.get(path);
      const csp = headers['content-security-policy'];
      if (headers['x-content-type-options'] === undefined || csp === undefined)
        this.#problem('headers', `${path}: the proxy removes security headers of Legate.`);
      else if (headers['x-content-type-options'] !== 'nosniff' || csp.includes(", default-src 'none'"))
        this.#warn('headers', `${path}: security headers appear twice: the proxy must not add its own.`);
      else if (!csp.startsWith("default-src 'none'"))
        this.#problem('headers', `${path}: the proxy replaces the Content-Security-Policy of Legate.`);
      if (this.#isHttps && !/max-age=[1-9]\d{6,}/.test(headers['strict-transport-security'] ?? ''))
        this.#problem('headers', `${path}: Strict-Transport-Security is missing: LEGATE_BASE_URL is not https.`);
      if (headers['cache-control'] !== 'no-store')
        this.#problem(
          'headers',
          `${path}: Cache-Control is ${headers['cache-control']}: the proxy must not change it.`,
        );
      if (headers['x-powered-by'] || /\d/.test(headers['server'] ?? ''))
        this.#warn('headers', `${path}: the answer names the version of the server: ${headers['server'] ?? ''}`);
    }
    if (this.findings.length === before) this.#ok('headers', 'The security headers arrive as Legate sends them.');
  }

  async checkCookies(): Promise<void> {
    // The language cookie is the only cookie that is set without a sign-in.
    const { cookies } = await this.get('/account/sign-in?lang=en');
    if (cookies.length === 0) {
      this.#problem('cookies', 'The proxy removes Set-Cookie: nobody could stay signed in.');
      return;
    }
    const before = this.findings.length;
    for (const cookie of cookies) {
      const name = cookie.split('=')[0];
      if (this.#isHttps && !/;\s*secure/i.test(cookie))
        this.#problem('cookies', `${name} is not Secure: LEGATE_BASE_URL is not https, or the proxy changes cookies.`);
      if (!/;\s*samesite=/i.test(cookie))
        this.#problem('cookies', `${name} has no SameSite: the proxy changes cookies.`);
      if (/;\s*domain=/i.test(cookie)) this.#problem('cookies', `${name} has a Domain: other hosts would receive it.`);
    }
    if (this.findings.length === before) this.#ok('cookies', 'Cookies arrive as Legate sets them.');
  }

  async checkProxies(): Promise<void> {
    const before = this.findings.length;
    const unknown = await this.get('/legate-check-no-such-endpoint', { headers: { 'x-request-id': REQUEST_ID } });
    if (unknown.status !== 404 || errorCodeOf(unknown) !== 'NOT_FOUND')
      this.#problem('proxy', 'Error answers are replaced: clients need those of Legate (proxy_intercept_errors off).');
    else if (unknown.headers['x-request-id'] !== REQUEST_ID)
      this.#warn('proxy', 'X-Request-ID of clients is replaced or removed: requests are harder to find in logs.');
    const refused = await this.get('/auth/session', { headers: { authorization: 'Bearer legate-check' } });
    const challenge = refused.headers['www-authenticate'];
    if (challenge === undefined)
      this.#problem('proxy', 'The proxy removes WWW-Authenticate: MCP clients could not find the sign-in.');
    else if (!challenge.includes('invalid_token'))
      this.#problem('proxy', 'The proxy removes Authorization: no token would be accepted.');
    for (const method of ['PATCH', 'DELETE', 'PUT']) {
      const seen = await this.get('/legate-check-no-such-endpoint', { method });
      if (errorCodeOf(seen) === undefined)
        this.#problem('proxy', `${method} is answered by the proxy: ${seen.status}.`);
    }
    const large = await this.get('/auth/session', { headers: { 'x-legate-check': 'x'.repeat(6000) } });
    if (large.status !== 401)
      this.#warn(
        'proxy',
        `A header of 6 KB is answered with ${large.status}: tokens and cookies may need larger buffers.`,
      );
    const metrics = await this.get('/metrics');
    if (metrics.status === 200) this.#problem('proxy', '/metrics is accessible without credentials.');
    if (this.findings.length === before)
      this.#ok('proxy', 'Methods, headers and error answers pass through the proxy.');
  }

  /** Compares the remaining rate limit with and without an invented X-Forwarded-For. */
  async checkClientAddress(): Promise<void> {
    const left = async (headers: Record<string, string> = {}): Promise<number | undefined> => {
      const seen = await this.get('/oauth/introspect', {
        method: 'POST',
        body: 'token=legate-check',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      });
      const rest = /(?:^|;)\s*r=(\d+)/.exec(seen.headers['ratelimit'] ?? '')?.[1];
      return rest === undefined ? undefined : Number(rest);
    };
    const own: (number | undefined)[] = [];
    for (let i = 0; i < FORGED.length; i++) own.push(await left());
    const forged: (number | undefined)[] = [];
    for (const ip of FORGED)
      forged.push(await left({ 'x-forwarded-for': ip, forwarded: `for=${ip}`, 'x-real-ip': ip }));
    const lowest = Math.min(...own.map((rest) => rest ?? Number.POSITIVE_INFINITY));
    if (own.includes(undefined) || forged.includes(undefined))
      this.#warn('proxy', 'RateLimit headers do not arrive, so the address of clients was not checked.');
    else if (forged.every((rest) => (rest as number) > lowest))
      this.#problem(
        'proxy',
        'Clients can choose their address with X-Forwarded-For: the proxy must replace it or append to it, and ' +
          'LEGATE_HTTP_TRUSTED_PROXIES must list only the proxies.',
      );
    else this.#ok('proxy', 'Clients cannot choose their address with X-Forwarded-For.');
  }

  #ok(area: Finding['area'], text: string): void {
    this.findings.push({ area, level: 'ok', text });
  }

  #warn(area: Finding['area'], text: string): void {
    this.findings.push({ area, level: 'warning', text });
  }

  #problem(area: Finding['area'], text: string): void {
    this.findings.push({ area, level: 'problem', text });
  }
}

function jsonOf({ body }: Seen): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

const errorCodeOf = (seen: Seen): string | undefined =>
  (jsonOf(seen)?.['error'] as { code?: string } | undefined)?.code ?? undefined;

const isLoopback = ({ hostname }: URL): boolean =>
  ['localhost', '127.0.0.1', '[::1]'].includes(hostname) || hostname.endsWith('.localhost');

const REASONS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the name is unknown',
  ECONNREFUSED: 'the connection is refused',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate chain is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate chain is incomplete: send the intermediate certificates too',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
};

const reasonOf = (error: Error & { code?: string }): string => REASONS[error.code ?? ''] ?? error.message;
