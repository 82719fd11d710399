/** A person with a browser without scripts: keeps cookies, follows redirects, fills in forms. */
export class WebPerson {
  readonly email: string;
  readonly password = 'correct horse battery staple';
  readonly #cookies = new Map<string, string>();

  constructor(email = `person-${Math.random().toString(36).slice(2, 10)}@example.com`) {
    this.email = email;
  }

  /** Creates the account over HTTP. */
  async signUp(base: string): Promise<{ token: string; id: string }> {
    const response = await fetch(`${base}/sign-up`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: this.email, password: this.password }),
    });
    if (!response.ok) throw new Error(`POST /sign-up answered ${response.status}: ${await response.text()}`);
    const { token, user } = (await response.json()) as { token: string; user: { id: string } };
    return { token, id: user.id };
  }

  /** Opens an authorization request, signs in if needed, and decides. Returns the redirect to the client. */
  async decide(address: string, decision: 'allow' | 'deny' = 'allow'): Promise<URL> {
    let page = await this.#open(address);
    if (page.url.pathname.endsWith('/sign-in'))
      page = await this.#submit(page, { email: this.email, password: this.password });
    if (page.left) return page.url;
    const { url, left, html } = await this.#submit(page, { decision });
    if (!left) throw new Error(`the consent page led to ${url.href}: ${html.slice(0, 500)}`);
    return url;
  }

  /** Opens a page, signs in if needed, fills in its form and sends it. Returns the text of the next page. */
  async press(address: string, typed: Record<string, string>): Promise<string> {
    let page = await this.#open(address);
    if (page.url.pathname.endsWith('/sign-in'))
      page = await this.#submit(page, { email: this.email, password: this.password });
    return (await this.#submit(page, typed)).html;
  }

  #open(address: string): Promise<Page> {
    return this.#follow(new URL(address), { method: 'GET' });
  }

  async #submit(page: Page, typed: Record<string, string>): Promise<Page> {
    const fields = new URLSearchParams();
    const form = /<form[^>]*method="post".*?<\/form>/s.exec(page.html)?.[0] ?? '';
    for (const [tag] of form.matchAll(/<input[^>]*>/g)) {
      const name = attribute(tag, 'name');
      const type = attribute(tag, 'type');
      if (name === undefined || ((type === 'checkbox' || type === 'radio') && !/\schecked\b/.test(tag))) continue;
      fields.set(name, attribute(tag, 'value') ?? (type === 'checkbox' ? 'on' : ''));
    }
    for (const [name, value] of Object.entries(typed)) fields.set(name, value);
    return this.#follow(page.url, {
      method: 'POST',
      body: fields,
      headers: { origin: page.url.origin, 'sec-fetch-site': 'same-origin' },
    });
  }

  /** Follows redirects within the origin of the first page. */
  async #follow(start: URL, init: RequestInit): Promise<Page> {
    let url = start;
    let next = init;
    for (let hops = 0; hops < 10; hops++) {
      const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const response = await fetch(url, {
        ...next,
        redirect: 'manual',
        headers: {
          accept: 'text/html',
          ...(cookie ? { cookie } : {}),
          ...(next.headers as Record<string, string> | undefined),
        },
      });
      for (const set of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
        this.#cookies.set(name, value);
      }
      const location = response.headers.get('location');
      if (location === null) {
        const html = await response.text();
        if (response.status >= 400) throw new Error(`${url.href} answered ${response.status}: ${html.slice(0, 800)}`);
        return { url, html, left: false };
      }
      url = new URL(location, url);
      next = { method: 'GET' };
      if (url.origin !== start.origin) return { url, html: '', left: true };
    }
    throw new Error(`${start.href} leads in circles`);
  }
}

interface Page {
  readonly url: URL;
  readonly html: string;
  /** The redirect goes to another origin, that of the client. */
  readonly left: boolean;
}

const attribute = (tag: string, name: string): string | undefined =>
  new RegExp(`\\s${name}="([^"]*)"`)
    .exec(tag)?.[1]
    ?.replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
