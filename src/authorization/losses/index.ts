/**
 * Finds the permissions that agents lose by a change, in a change that is rolled back (contract 17.8).
 *
 * Guarantees: every agent that can do less afterwards is found, also by a chain of delegations; under the head row's
 * lock, rows are only read; permissions are compared after its release.
 */
export { findLosses } from './find-losses.ts';
