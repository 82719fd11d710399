/**
 * Accounts of people and how they sign in. Each module has a folder with exports of its own.
 *
 * `users/` has accounts, `sign-in/` the ways to sign in (password, mail link, code, passkey, second factor),
 * `passwords/` their rules and storage, `sessions/` sessions, `api-tokens/` tokens for programs, `invites/` and
 * `setup/` the first accounts, `tenants/` their groups, `scim/` accounts that an identity provider manages,
 * `federation/` sign-in at one, `account-pages/` the pages of an account.
 *
 * Guarantees: no answer reveals whether an address has an account; codes and links work once; ending a session or an
 * account takes effect on the next request of every instance. What agents of a person may do is in `authorization`.
 */
export {};
