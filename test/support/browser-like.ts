import type { Answered, TestService } from './service.ts';

/** A minimal browser: keeps cookies, sends forms, and does not follow redirects. */
export class FormClient {
  readonly cookies = new Map<string, string>();
  readonly #t: TestService;
  readonly #headers: Record<string, string>;

  constructor(t: TestService, headers: Record<string, string> = {}) {
    this.#t = t;
    this.#headers = headers;
  }

  get(path: string): Promise<Answered> {
    return this.#send('GET', path, {});
  }

  post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Answered> {
    const form = {
      'content-type': 'application/x-www-form-urlencoded',
      origin: new URL(this.#t.legate.baseUrl).origin,
      'sec-fetch-site': 'same-origin',
      ...headers,
    };
    return this.#send('POST', path, { raw: new URLSearchParams(fields).toString(), headers: form });
  }

  async #send(
    method: string,
    path: string,
    { raw, headers }: { raw?: string; headers?: Record<string, string> },
  ): Promise<Answered> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const all = { accept: 'text/html', ...this.#headers, ...(cookie ? { cookie } : {}), ...headers };
    const r = await this.#t.call(method, path, { headers: all, ...(raw === undefined ? {} : { raw }) });
    for (const set of r.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (/Max-Age=0\b/.test(set)) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return r;
  }
}

/** Returns the messages of the error summary on a page. */
export const problemsIn = (html: string): string[] =>
  [...html.matchAll(/<li>(?:<a href="#\w+">)?([^<]+)(?:<\/a>)?<\/li>/g)].map((m) => m[1] as string);
