import { z } from 'zod';
import type { Actor } from '../../access/actor.ts';
import { applicationCaller } from '../../access/caller.ts';
import { asQuery, type ChangeOptions, expecting, type OneOrMore } from '../../access/in-process.ts';
import { asId, type Id } from '../../kernel/ids.ts';
import { parseWith } from '../../kernel/json.ts';
import type { Erasure } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { createUser } from './create-user.ts';
import { deleteUser } from './delete-user.ts';
import { eraseUser } from './erase-user.ts';
import { getUser, listUsers } from './list-users.ts';
import { ListUsers, Role, SignUp, UpdateUser, type User } from './schema.ts';
import { updateUser } from './update-user.ts';

const CreateUser = SignUp.extend({ role: Role.optional(), emailVerified: z.boolean().optional() });
const Filter = ListUsers.omit({ limit: true, cursor: true });
const PAGE = 1000;

/**
 * `legate.users`: the endpoints under /users as functions, with the rights of an administrator. They throw {@link
 * LegateError} as the endpoints do.
 */
export interface UsersApi {
  /** Creates an account, whatever the value of `users.signUp`. */
  create(input: z.input<typeof CreateUser>): Promise<User>;
  /** Returns all matching users, ordered by id, without pages. */
  list(filter?: OneOrMore<z.input<typeof Filter>>): Promise<User[]>;
  get(id: string): Promise<User>;
  update(id: string, input: z.input<typeof UpdateUser>, options?: ChangeOptions): Promise<User>;
  delete(id: string, options?: ChangeOptions): Promise<void>;
  /** Deletes a user and erases their personal data from the ledger, like `DELETE /users/:id?erase=true`. */
  erase(id: string): Promise<Erasure>;
}

export const usersApi = (platform: Platform, actor: Actor): UsersApi => ({
  create: async (input) => createUser(platform, actor, parseWith(CreateUser, input)),
  list: async (filter = {}) => {
    const parsed = asQuery(Filter, filter);
    const all: User[] = [];
    for (let after: Id<'user'> | undefined; ; ) {
      const page = await listUsers(platform, parsed, { limit: PAGE, after });
      all.push(...page);
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return all;
      after = asId('user', last.id);
    }
  },
  get: (id) => getUser(platform, asId('user', id)),
  update: async (id, input, options) =>
    updateUser(platform, expecting(applicationCaller(actor), options), asId('user', id), parseWith(UpdateUser, input)),
  delete: async (id, options) => deleteUser(platform, expecting(applicationCaller(actor), options), asId('user', id)),
  erase: (id) => eraseUser(platform, applicationCaller(actor), asId('user', id)),
});
