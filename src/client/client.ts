import { ENDPOINTS, type EndpointTable } from './endpoints.ts';
import { DeniedError } from './errors.ts';
import { cursorIn, type List, listOf } from './list.ts';
import { type Query, Transport, type TransportOptions } from './request.ts';
import type { RequestOptions } from './request-options.ts';
import { type EventStream, type StreamOptions, streamEvents } from './stream.ts';
import type { AuthorizeDecision, AuthorizeRequest, Resources } from './types.ts';

export interface LegateClientOptions extends TransportOptions {
  /** Address of the REST endpoints. In a browser it may be relative to the page. */
  readonly baseUrl: string | URL;
  /** `http.basePath` of the service, if it is not the default. */
  readonly basePath?: string | undefined;
}

/** A client of one service, with one credential. Without a token, a browser sends its cookies. */
export interface LegateClient extends Resources {
  /** Address of the REST endpoints, without a trailing slash. */
  readonly baseUrl: string;
  readonly events: Resources['events'] & {
    /** Follows events as they happen and reconnects after a disconnect. */
    stream(options?: StreamOptions): EventStream;
  };
  /** Decides like `authorize` and returns the decision if it is allowed. Throws a DeniedError. */
  require(request: AuthorizeRequest, options?: RequestOptions): Promise<AuthorizeDecision>;
  /** Sends any request, with the token, retries and errors of the client. Returns the answer with its body unread. */
  request(
    method: string,
    path: string,
    init?: { readonly query?: Query; readonly body?: unknown } & RequestOptions,
  ): Promise<Response>;
}

type Args = readonly unknown[];

class Client {
  readonly #transport: Transport;
  readonly #base: URL;
  readonly #basePath: string;

  constructor(options: LegateClientOptions) {
    this.#transport = new Transport(options);
    this.#base = new URL(options.baseUrl, globalThis.location?.href);
    this.#basePath = (options.basePath ?? '/api/legate').replace(/\/$/, '');
    Object.assign(this, this.#build(ENDPOINTS));
    const { authorize, events } = this as unknown as LegateClient;
    Object.assign(events, {
      stream: (o: StreamOptions = {}): EventStream =>
        streamEvents(
          (query, headers, signal) =>
            this.#transport.send({
              method: 'GET',
              url: this.#url('~/events/stream', query),
              raw: true,
              options: { headers, signal, retries: 0 },
            }),
          o,
        ),
    });
    Object.assign(this, {
      baseUrl: this.#base.href.replace(/\/$/, ''),
      require: async (request: AuthorizeRequest, o?: RequestOptions): Promise<AuthorizeDecision> => {
        const decision = await authorize(request, o);
        if (!decision.allowed) throw new DeniedError(decision, request.action, request.resource);
        return decision;
      },
    });
  }

  async request(
    method: string,
    path: string,
    { query, body, ...options }: { query?: Query; body?: unknown } & RequestOptions = {},
  ): Promise<Response> {
    return (await this.#transport.send({ method, url: this.#url(path, query), body, raw: true, options })).response;
  }

  #build(table: EndpointTable): object {
    return Object.fromEntries(
      Object.entries(table).map(([name, entry]) => [
        name,
        typeof entry === 'string' ? (...args: Args) => this.#call(entry, args) : this.#build(entry),
      ]),
    );
  }

  /** Arguments are the parameters of the path in order, then query or body, then options. */
  #call(endpoint: string, args: Args): unknown {
    const [kind, template] = endpoint.split(' ') as [string, string];
    let used = 0;
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = args[used++];
      if (typeof value !== 'string' || /^\.{0,2}$/.test(value)) throw new TypeError(`${template}: ${name} is missing`);
      // The parameter `path` is the rest of an address.
      return name === 'path' ? value.replace(/^\//, '') : encodeURIComponent(value);
    });
    const [given, { preview, ...options } = {}] = args.slice(used) as [
      object | undefined,
      (RequestOptions & { preview?: boolean }) | undefined,
    ];
    if (kind === 'LIST')
      return listOf(async (cursor) => {
        const url = this.#url(path, { ...given, ...(cursor !== undefined && { cursor }) });
        const { response, data } = await this.#transport.send({ method: 'GET', url, options });
        const link = response.headers.get('link');
        const total = response.headers.get('legate-total-count');
        return {
          items: data as unknown[],
          next: cursorIn(link, 'next'),
          prev: cursorIn(link, 'prev'),
          total: total === null ? undefined : Number(total),
        };
      }) satisfies List<unknown>;
    const raw = kind === 'RAW';
    const method = raw ? 'GET' : kind === 'FORM' ? 'POST' : kind;
    const asQuery = method === 'GET' || method === 'DELETE';
    const url = this.#url(
      path,
      asQuery ? { ...given, preview: (given as Query)?.['preview'] ?? preview } : { preview },
    );
    const body = asQuery ? undefined : kind === 'FORM' ? formOf(given) : given;
    const sent = this.#transport.send({ method, url, body, raw, options });
    return sent.then(({ response, data }) => (raw ? response : data));
  }

  /** `~/x` is below `http.basePath`, `^/x` at the root of the domain. */
  #url(path: string, query: Query = {}): URL {
    const { origin, pathname } = this.#base;
    const mount = path[0] === '~' ? this.#basePath : path[0] === '^' ? '' : pathname.replace(/\/$/, '');
    const url = new URL(origin + mount + path.replace(/^[~^]/, ''));
    for (const [name, value] of Object.entries(query)) {
      // A repeated filter matches any of its values; ids and types are one list.
      const values = Array.isArray(value) && !/(^|\.)(ids|types)$/.test(name) ? value : [value];
      for (const one of values) {
        if (one === undefined) continue;
        // Such as a signal. The service would ignore it.
        if (one instanceof Object && !(one instanceof Date || Array.isArray(one)))
          throw new TypeError(`${name} is not a parameter of ${path}. Options are the argument after the query.`);
        url.searchParams.append(name, one instanceof Date ? one.toISOString() : String(one));
      }
    }
    return url;
  }
}

/** Leaves out undefined fields, as JSON does. */
const formOf = (fields: object = {}): URLSearchParams =>
  new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== undefined));

export const LegateClient = Client as unknown as new (options: LegateClientOptions) => LegateClient;
