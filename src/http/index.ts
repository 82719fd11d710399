/**
 * From a request to an answer: routes as data, one pipeline for all of them, errors, limits, logs and metrics.
 *
 * Guarantees: input is parsed by the schema of its route before any code of the route runs; an answer is sent only
 * after what it says is durable; every answer, errors included, has the form that its route declares.
 *
 * `sources/` reads a request from the web's `Request` or from Node's server, `rate-limit/` counts requests by address
 * and caller, `idempotency/` answers a repeated request from its record, `preview/` shows what a change would do.
 * Routes are declared in the modules. Files are imported one by one; there are no exports here.
 */
export {};
