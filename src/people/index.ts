/**
 * Accounts of people and how they sign in. Each module has a folder with its own `index.ts`.
 *
 * `users/` has accounts, `sign-in/` the ways to sign in (password, mail link, code, passkey, second factor),
 * `passwords/` their rules and storage, `sessions/` sessions, `api-tokens/` tokens for programs, `invites/` and
 * `setup/` the first accounts, `tenants/` groups of people, `scim/` accounts that an identity provider manages,
 * `federation/` sign-in through an identity provider, `account-pages/` the pages of an account.
 *
 * Guarantees: no answer reveals whether an address has an account; codes and links work once; ending a session or an
 * account takes effect on the next request of every instance. The permissions of a person's agents are in
 * `authorization`.
 */
export {};
