import { createRequire } from 'node:module';
import type { Context, Span, Tracer } from '@opentelemetry/api';
import { packageVersion } from '../kernel/version.ts';
import type { EndpointMetrics } from './request-metrics.ts';
import type { Source } from './sources/source.ts';

type Api = typeof import('@opentelemetry/api');

/** Where `@opentelemetry/api` keeps what an SDK has registered, whichever copy of the package the SDK uses. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1');
const isRegistered = (): boolean =>
  (globalThis as { [REGISTERED]?: { trace?: unknown } })[REGISTERED]?.trace !== undefined;

/** A request with its span, and the context in which it is answered. */
export interface Traced {
  readonly span: Span;
  readonly context: Context;
}

/**
 * One span for each request, with the trace of the caller as its parent (`traceparent`). An SDK that the operator
 * installs decides what is exported, and where (contract 22.7). Spans hold the path pattern, never the URL, which may
 * contain tokens.
 */
export class Tracing {
  readonly #api: Api;
  readonly #tracer: Tracer;

  private constructor(api: Api) {
    this.#api = api;
    this.#tracer = api.trace.getTracer('legate', packageVersion());
  }

  /** Returns undefined, and loads nothing, unless an SDK was registered before the service is created. */
  static find(): Tracing | undefined {
    if (!isRegistered()) return undefined;
    return new Tracing(createRequire(import.meta.url)('@opentelemetry/api') as Api);
  }

  begin({ method, route }: EndpointMetrics, source: Source<unknown>): Traced {
    const { context: contexts, propagation, trace, SpanKind } = this.#api;
    // An instrumentation of node:http may have read the header already.
    const active = contexts.active();
    const parent = trace.getSpan(active)
      ? active
      : propagation.extract(active, source, { get: (from, name) => from.header(name) ?? undefined, keys: () => [] });
    const attributes = { 'http.request.method': method, 'http.route': route };
    const span = this.#tracer.startSpan(`${method} ${route}`, { kind: SpanKind.SERVER, attributes }, parent);
    return { span, context: trace.setSpan(parent, span) };
  }

  /** Calls `answer` so that spans of the database or of requests to others become children of the request's. */
  within<T>({ context }: Traced, answer: () => Promise<T>): Promise<T> {
    return this.#api.context.with(context, answer);
  }

  end({ span }: Traced, status: number, requestId: string): void {
    span.setAttribute('http.response.status_code', status);
    span.setAttribute('legate.request_id', requestId);
    if (status >= 500) {
      span.setAttribute('error.type', String(status));
      span.setStatus({ code: this.#api.SpanStatusCode.ERROR });
    }
    span.end();
  }
}
