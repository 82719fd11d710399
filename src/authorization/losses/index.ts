/**
 * What agents lose by a change, found out in a change that is rolled back (contract 17.8).
 *
 * Guarantees: every agent that can do less afterwards is found, also by a chain of delegations; under the head row's
 * lock rows are only read, and permissions are compared after it is released.
 */
export { findLosses } from './find-losses.ts';
