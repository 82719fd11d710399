/**
 * Decisions about agents and everything that they depend on. Each folder is a module with its own `index.ts`.
 *
 * `agents/` has agents and their state, `permissions/` the decision as a pure function and the endpoints that ask for
 * one, `delegations/` the rights that agents pass on, `approvals/` the calls that wait for a person, `authzen/` the
 * same decision in the format of OpenID AuthZEN, `history/` decisions as of an earlier time and on a draft, `losses/`
 * the permissions that agents lose by a change.
 *
 * Guarantees: no decision without its record; a change of policy applies to the next decision on every instance; the
 * rights of a delegation are never more than those of its source.
 */
export {};
