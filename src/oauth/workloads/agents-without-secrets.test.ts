import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { openIssuer, type TestIssuer } from '../../../test/support/issuer.ts';
import { claimsOf, form } from '../../../test/support/oauth.ts';
import { createTestService, type Json, type TestService, type TestUser } from '../../../test/support/service.ts';

const guide = readFileSync(join(import.meta.dirname, '../../../docs/guides/agents-without-secrets.md'), 'utf8');
const BASE_URL = 'https://legate.example.com';

const platforms = guide.split(/^## /m).flatMap((section): [string, string[]][] => {
  const objects = [...section.matchAll(/^```json\n([^`]+)^```/gm)].map(([, json]) => json as string);
  return objects.length === 0 ? [] : [[section.split('\n', 1)[0] as string, objects]];
});
/** The form fields of the request in step 3 of the guide. */
const fields = [...guide.matchAll(/--data-urlencode "(\w+)=([^"]+)"/g)].map(([, name, value]) => [name, value]);

let t: TestService;
let admin: TestUser;
let owner: TestUser;
let signer: TestIssuer;
const reasons: unknown[] = [];
/** The setting and the request for a decision in the guide. */
const extraScopes = [/`LEGATE_MCP_EXTRA_SCOPES=(\w+)`/.exec(guide)?.[1] as string];
const [, askedAt, question] = /\$LEGATE_URL(\/authorize)"[^']*--json '([^']+)'/.exec(guide) as unknown as string[];

beforeAll(async () => {
  const ignored = () => {};
  const info = (logged: Json, message: string) => message === 'refused' && reasons.push(logged['reason']);
  t = await createTestService({
    lasting: true,
    log: { debug: ignored, info, warn: ignored, error: ignored },
    config: { federation: { allowPrivateNetworks: true }, mcp: { extraScopes } },
  });
  [admin, owner, signer] = [await t.admin(), await t.user(), await openIssuer('RS256')];
});

const exchange = async (claims: Json, more: Json = {}) => {
  const now = Math.floor(t.clock.now() / 1000);
  const assertion = await signer.sign({ iat: now, exp: now + 300, jti: crypto.randomUUID(), ...claims });
  const filled = fields.map(([name, value]) => [name, value === '$PLATFORM_TOKEN' ? assertion : value]);
  return form(t, '/oauth/token', { ...Object.fromEntries(filled), ...more });
};

describe('docs/guides/agents-without-secrets.md', () => {
  it('lists the common platforms, and one request for all of them', () => {
    expect(platforms.map(([name]) => name)).toEqual([
      'GitHub Actions',
      'GitLab CI',
      'Kubernetes',
      'SPIFFE',
      'Amazon Web Services',
      'Google Cloud',
    ]);
    expect(fields.map(([name]) => name)).toEqual(['grant_type', 'assertion', 'scope']);
  });

  it.each(platforms)(
    '%s: its token becomes an access token of the agent, and similar tokens do not',
    async (_, texts) => {
      expect(texts).toHaveLength(3);
      const [issuer, trust, claims] = texts.map(
        (text) => JSON.parse(text.replaceAll(BASE_URL, t.legate.baseUrl)) as Json,
      );
      const jwksUri = `${signer.address}/jwks`;
      const registered = await t.call('POST', '/issuers', { as: admin, body: { ...issuer, jwksUri } });
      expect(registered.status, registered.text).toBe(201);
      const agent = await t.agent(owner);
      const trusted = await t.call('POST', `/agents/${agent.id}/trust`, { as: owner, body: trust });
      expect(trusted.status, trusted.text).toBe(201);

      const r = await exchange(claims as Json);
      expect(r.status, r.text).toBe(200);
      expect(claimsOf(r.body.access_token)).toMatchObject({ sub: agent.id, user_id: owner.id });

      const { sub } = claims as { sub: string };
      const others: [Json, string][] = [
        [{ aud: 'https://other.example' }, 'assertion-audience'],
        ...[`${sub}x`, `x${sub}`, `${sub}:x`].map((other): [Json, string] => [{ sub: other }, 'workload-untrusted']),
        ...Object.keys(trust?.['claims'] ?? {}).map((name): [Json, string] => [{ [name]: 'x' }, 'workload-untrusted']),
        [{ iss: signer.address }, 'assertion-issuer'],
      ];
      for (const [more, reason] of others) {
        const refused = await exchange({ ...claims, ...more });
        expect([refused.status, refused.body.error, reasons.at(-1)], reason).toEqual([400, 'invalid_grant', reason]);
      }
    },
  );

  it('the access token can ask for decisions with the scope and the setting of the guide', async () => {
    const asked = JSON.parse(question as string) as { action: string; resource: string };
    const agent = await t.agent(owner, { permissions: [{ resource: asked.resource, actions: [asked.action] }] });
    const issuer = { name: 'decisions', issuer: signer.address, uses: ['workload'] };
    expect((await t.call('POST', '/issuers', { as: admin, body: issuer })).status).toBe(201);
    const trust = { issuer: signer.address, subject: 'job:1' };
    expect((await t.call('POST', `/agents/${agent.id}/trust`, { as: owner, body: trust })).status).toBe(201);
    const claims = { sub: 'job:1', aud: t.legate.baseUrl };
    const as = (await exchange(claims, { scope: extraScopes.join() })).body.access_token as string;
    const decided = await t.call('POST', askedAt as string, { as, body: asked });
    expect([decided.status, decided.body.allowed]).toEqual([200, true]);
    const without = (await exchange(claims)).body.access_token as string;
    expect((await t.call('POST', askedAt as string, { as: without, body: asked })).status).toBe(403);
  });
});
