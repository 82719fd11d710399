import { expect, it } from 'vitest';
import { inTurn } from '../../../test/support/in-turn.ts';
import { scimClient } from '../../../test/support/scim.ts';

const client = scimClient();
const { created, name, scim, tenantToken } = client;

const requests: [string, (id: string, as: string) => ReturnType<typeof scim>][] = [
  ['DELETE', (id, as) => scim('DELETE', `/Users/${id}`, undefined, {}, as)],
  ['PUT', (id, as) => scim('PUT', `/Users/${id}`, { userName: name() }, {}, as)],
];

it.each(requests)('%s changes nobody in a tenant that the administrator has left meanwhile', async (_method, send) => {
  const t = client.service();
  const { tenantId, as } = await tenantToken();
  const { id } = await created({}, as);
  const [{ id: admin }] = (await t.call('GET', `/users?role=admin&tenantId=${tenantId}`, { as: await t.admin() })).body;
  const elsewhere = { tenantId: await t.tenant() };
  const by = await t.admin();
  const [moved, answer] = await inTurn(
    t,
    () => t.call('PATCH', `/users/${admin}`, { as: by, body: elsewhere }),
    () => send(id, as),
  );
  expect([moved?.status, answer?.status]).toEqual([200, 403]);
  expect((await t.call('GET', `/users/${id}`, { as: by })).status).toBe(200);
});
