/**
 * Callers and their visibility: principals, scopes, the caller of a use case, and the rows of each table that a
 * principal sees.
 *
 * Guarantees: a credential that has ended is refused on the next request of every instance; a use case authorizes its
 * caller again inside its change; a caller's queries contain only rows that it may see.
 *
 * `http/authenticate.ts` finds the principal of a credential. Credentials are issued in `people` and `oauth`; decisions
 * about agents are in `authorization/permissions`. Files are imported one by one; there are no exports here.
 */
export {};
