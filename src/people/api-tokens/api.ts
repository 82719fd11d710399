import type { z } from 'zod';
import type { Actor } from '../../access/actor.ts';
import { applicationCaller } from '../../access/caller.ts';
import { asOverHttp, type InProcess } from '../../access/in-process.ts';
import { asId, type Id } from '../../kernel/ids.ts';
import { parseWith } from '../../kernel/json.ts';
import type { Platform } from '../../platform.ts';
import { createApiToken } from './create-api-token.ts';
import { listApiTokens } from './list-api-tokens.ts';
import { revokeApiToken } from './revoke-api-token.ts';
import { type ApiToken, type ApiTokenWithSecret, CreateApiToken } from './schema.ts';

const PAGE = 1000;

/** `legate.apiTokens`: the endpoints under /api-tokens as functions, for any user. They throw {@link LegateError}. */
export interface ApiTokensApi {
  /** 404 USER_NOT_FOUND for an unknown user. */
  create(userId: string, input: InProcess<z.input<typeof CreateApiToken>>): Promise<ApiTokenWithSecret>;
  /** Returns all tokens of a user, oldest first, without pages. */
  list(userId: string): Promise<ApiToken[]>;
  revoke(id: string): Promise<void>;
}

export const apiTokensApi = (platform: Pick<Platform, 'database' | 'ledger'>, actor: Actor): ApiTokensApi => ({
  create: async (userId, input) =>
    createApiToken(
      platform,
      applicationCaller(actor),
      { userId: asId('user', userId) },
      parseWith(CreateApiToken, asOverHttp(input)),
    ),
  list: async (userId) => {
    const all: ApiToken[] = [];
    for (let after: Id<'apiToken'> | undefined; ; ) {
      const page = await listApiTokens(platform, asId('user', userId), { limit: PAGE, after });
      all.push(...page);
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return all;
      after = asId('apiToken', last.id);
    }
  },
  revoke: (id) => revokeApiToken(platform, applicationCaller(actor), asId('apiToken', id)),
});
