/**
 * What `src/platform.ts` consists of, as far as it is not a part of another area: how a module declares a route, and
 * the parts of the service that handlers and the pipeline share.
 *
 * Guarantees: nothing here imports the pipeline or a module. What only one of them can do, such as counting requests in
 * Redis, is an interface here.
 *
 * `http` answers requests with it. Files are imported one by one; there are no exports here.
 */
export {};
