import { z } from 'zod';
import type { Actor } from '../../access/actor.ts';
import { applicationCaller } from '../../access/caller.ts';
import { parseWith } from '../../kernel/json.ts';
import type { Platform } from '../../platform.ts';
import { createUser } from './create-user.ts';
import { deleteUser } from './delete-user.ts';
import { getUser, listUsers } from './list-users.ts';
import { ListUsers, Role, SignUp, UpdateUser, type User } from './schema.ts';
import { updateUser } from './update-user.ts';

const CreateUser = SignUp.extend({ role: Role.optional(), emailVerified: z.boolean().optional() });
const Filter = ListUsers.omit({ limit: true, cursor: true });
const PAGE = 1000;

/** `legate.users`: accounts as functions, with the power of an admin. They throw {@link LegateError} as the endpoints under /users do. */
export interface UsersApi {
  /** Makes an account, whatever `users.signUp` says. */
  create(input: z.input<typeof CreateUser>): Promise<User>;
  /** Everyone who fits, ordered by id; not cut into pages. */
  list(filter?: z.input<typeof Filter>): Promise<User[]>;
  get(id: string): Promise<User>;
  update(id: string, input: z.input<typeof UpdateUser>): Promise<User>;
  delete(id: string): Promise<void>;
}

export const usersApi = (platform: Platform, actor: Actor): UsersApi => ({
  create: async (input) => createUser(platform, actor, parseWith(CreateUser, input)),
  list: async (filter = {}) => {
    const parsed = parseWith(Filter, filter);
    const all: User[] = [];
    for (;;) {
      const page = await listUsers(platform, parsed, { limit: PAGE, after: all.at(-1)?.id });
      all.push(...page);
      if (page.length < PAGE) return all;
    }
  },
  get: (id) => getUser(platform, id),
  update: async (id, input) => updateUser(platform, applicationCaller(actor), id, parseWith(UpdateUser, input)),
  delete: (id) => deleteUser(platform, applicationCaller(actor), id),
});
