import { beforeAll } from 'vitest';
import { createTestService, type Json, type TestService } from './service.ts';

const SCIM_JSON = { 'content-type': 'application/scim+json' };
const PATCH_OP = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

/** A service for the tests of one file, and requests of a SCIM client to it. */
export function scimClient() {
  let t: TestService;
  let token: string;
  let count = 0;
  beforeAll(async () => {
    t = await createTestService({
      lasting: true,
      config: { users: { scimGroups: ['Legate admins=role:admin', 'Acme staff=tenant:acme'] } },
    });
    token = await t.apiToken((await t.admin()).id, ['scim']);
  });

  const scim = (method: string, path: string, body?: Json, headers: Record<string, string> = {}, as = token) =>
    t.call(method, `/scim/v2${path}`, {
      headers: { authorization: `Bearer ${as}`, ...(body === undefined ? {} : SCIM_JSON), ...headers },
      ...(body === undefined ? {} : { raw: JSON.stringify(body) }),
    });
  const name = (): string => `person-${++count}@example.com`;
  return {
    service: () => t,
    /** An administrator's token with the scope `scim`. */
    token: () => token,
    scim,
    /** Returns an unused `userName`. */
    name,
    /** Returns a unique word. */
    mark: (word: string): string => `${word}${++count}`,
    async created(body: Json = {}, as = token): Promise<Json> {
      const r = await scim('POST', '/Users', { userName: name(), ...body }, {}, as);
      if (r.status !== 201) throw new Error(`POST /Users answered ${r.status}: ${r.text}`);
      return r.body;
    },
    listed: async (filter: string, kind = 'Users', as = token): Promise<Json> =>
      (await scim('GET', `/${kind}?${new URLSearchParams({ filter })}`, undefined, {}, as)).body,
    patch: (path: string, ...Operations: Json[]) => scim('PATCH', path, { schemas: [PATCH_OP], Operations }),
    /** An administrator's token that is bound to a new tenant. */
    async tenantToken(): Promise<{ tenantId: string; as: string }> {
      const tenantId = await t.tenant();
      const admin = await t.user({ role: 'admin', tenantId });
      return { tenantId, as: await t.apiToken(admin.id, ['scim']) };
    },
  };
}
