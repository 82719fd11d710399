/**
 * The program `legate`: one file for each command, listed in `src/cli.ts`.
 *
 * `demo/`, `seed/` and `fixtures/` fill and test a service, `doctor/` and `outside/` look at one from outside, `login/`
 * and `gateway/` serve clients on a person's machine, `tour/` is the tour of the README.
 *
 * Guarantees: a command exits with 0 only if it did what it says; secrets are printed once and never logged. Commands
 * that start a service are wired in `src/service.ts`. Files are imported one by one; there are no exports here.
 */
export {};
