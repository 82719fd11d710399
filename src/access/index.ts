/**
 * Who asks, and what they may see: principals and how a credential leads to one, scopes, the caller of a use case, and
 * the part of each table that a principal sees.
 *
 * Guarantees: a credential that has ended is refused on the next request of every instance; a use case authorizes its
 * caller again inside its change; what a caller may not see is not in its queries.
 *
 * How credentials are issued is in `people` and `oauth`; what an agent may do is decided in
 * `authorization/permissions`. Files are imported one by one; there are no exports here.
 */
export {};
