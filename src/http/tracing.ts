import { createRequire } from 'node:module';
import type {
  Attributes,
  Context,
  ContextManager,
  Span,
  TextMapPropagator,
  Tracer,
  TracerProvider,
} from '@opentelemetry/api';
import { packageVersion } from '../kernel/version.ts';
import type { EndpointMetrics } from '../platform/request-metrics.ts';
import type { Source } from './sources/source.ts';

type Api = typeof import('@opentelemetry/api');

interface Registered {
  readonly trace?: TracerProvider;
  readonly context?: ContextManager;
  readonly propagation?: TextMapPropagator;
}

/**
 * Where all copies of `@opentelemetry/api` 1.x keep what an SDK has registered. It is read here, because a copy that is
 * newer than that of the SDK would ignore the SDK.
 */
const REGISTERED = Symbol.for('opentelemetry.js.api.1');

const HEADERS = {
  get: (source: Source<unknown>, name: string) => source.header(name) ?? undefined,
  keys: () => ['traceparent', 'tracestate', 'baggage'],
};

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
  readonly #contexts: ContextManager | undefined;
  readonly #propagation: TextMapPropagator | undefined;

  private constructor(api: Api, provider: TracerProvider, { context, propagation }: Registered) {
    this.#api = api;
    this.#tracer = provider.getTracer('legate', packageVersion());
    this.#contexts = context;
    this.#propagation = propagation;
  }

  /** Returns undefined, and loads nothing, unless an SDK was registered before the service is created. */
  static find(): Tracing | undefined {
    const registered = (globalThis as { [REGISTERED]?: Registered })[REGISTERED];
    if (!registered?.trace) return undefined;
    const api = createRequire(import.meta.url)('@opentelemetry/api') as Api;
    return new Tracing(api, registered.trace, registered);
  }

  begin({ method, route }: EndpointMetrics, source: Source<unknown>): Traced {
    const { ROOT_CONTEXT, trace, SpanKind } = this.#api;
    // An instrumentation of node:http may have read the header already.
    const active = this.#contexts?.active() ?? ROOT_CONTEXT;
    const parent = trace.getSpan(active) ? active : (this.#propagation?.extract(active, source, HEADERS) ?? active);
    const attributes = { 'http.request.method': method, 'http.route': route };
    const span = this.#tracer.startSpan(`${method} ${route}`, { kind: SpanKind.SERVER, attributes }, parent);
    return { span, context: trace.setSpan(parent, span) };
  }

  /** Calls `answer` so that spans of the database or of requests to others become children of the request's. */
  within<T>({ context }: Traced, answer: () => Promise<T>): Promise<T> {
    return this.#contexts ? this.#contexts.with(context, answer) : answer();
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

  /**
   * Adds a span for a call to another service that has ended, below the span of the request that is answered now.
   * `begun` is of `performance.now()`; `error` is undefined if the call succeeded.
   */
  called(name: string, attributes: Attributes, begun: number, error: string | undefined): void {
    const { ROOT_CONTEXT, SpanKind, SpanStatusCode } = this.#api;
    const startTime = performance.timeOrigin + begun;
    const options = { kind: SpanKind.CLIENT, attributes, startTime };
    const span = this.#tracer.startSpan(name, options, this.#contexts?.active() ?? ROOT_CONTEXT);
    if (error !== undefined) {
      span.setAttribute('error.type', error);
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end();
  }
}
