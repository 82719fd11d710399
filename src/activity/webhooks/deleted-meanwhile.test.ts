import { beforeAll, expect, it, vi } from 'vitest';
import { inTurn } from '../../../test/support/in-turn.ts';
import type { Json, TestService, TestUser } from '../../../test/support/service.ts';
import { webhookReceiver } from '../../../test/support/webhook-receiver.ts';

const receiving = webhookReceiver();
const { make, deliverAll, at, pathOf } = receiving;
let t: TestService;
let owner: TestUser;
beforeAll(() => {
  ({ t, owner } = receiving);
});

const types = ['agent.created'];
const remove = ({ id }: Json) => t.call('DELETE', `/webhooks/${id}`, { as: owner });
const stored = async ({ id }: Json): Promise<Json[]> =>
  t.legate.platform.database.read.selectFrom('webhook_deliveries').selectAll().where('webhook_id', '=', id).execute();

it('a webhook that is deleted while a test message waits gets none, and none is kept', async () => {
  const webhook = await make({ types });
  const [removed, tested] = await inTurn(
    t,
    () => remove(webhook),
    () => t.call('POST', `/webhooks/${webhook.id}/test`, { as: owner }),
  );
  expect([removed?.status, tested?.status, tested?.body.error?.code]).toEqual([204, 404, 'WEBHOOK_NOT_FOUND']);
  expect([await stored(webhook), at(pathOf(webhook))]).toEqual([[], []]);
});

it('no test message is sent with a credential that ends while it waits', async () => {
  const webhook = await make({ types });
  const { id, token } = (await t.call('POST', '/api-tokens', { as: owner, body: { name: 'testing' } })).body;
  const [ended, tested] = await inTurn(
    t,
    () => t.call('DELETE', `/api-tokens/${id}`, { as: owner }),
    () => t.call('POST', `/webhooks/${webhook.id}/test`, { as: token }),
  );
  expect([ended?.status, tested?.status]).toEqual([204, 401]);
  expect(at(pathOf(webhook))).toEqual([]);
});

it('no delivery is kept for a webhook that is deleted while its events are queued', async () => {
  const [webhook, other] = [await make({ types }), await make({ types })];
  await t.agent(owner);
  const { background, ledger } = t.legate.platform;
  // The use of a token is stored after its request, and here only the dispatcher is to write.
  await background.idle();
  const maintain = ledger.maintain.bind(ledger);
  let removed: Promise<{ status: number }> | undefined;
  const queued = vi.spyOn(ledger, 'maintain').mockImplementation(async (work) => {
    removed ??= remove(webhook);
    await removed;
    return maintain(work);
  });
  await deliverAll();
  queued.mockRestore();
  expect((await removed)?.status).toBe(204);
  expect([await stored(webhook), await stored(other)]).toMatchObject([[], [{ status: 'delivered' }]]);
});
