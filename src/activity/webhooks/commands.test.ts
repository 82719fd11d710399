import { expect, it } from 'vitest';
import { createTestService } from '../../../test/support/service.ts';
import { webhookReceiver } from '../../../test/support/webhook-receiver.ts';

const receiving = webhookReceiver();
const { make, deliverAll, at, deliveries, pathOf } = receiving;

it('a command delivers nothing, because its settings may refuse the address that the service allows', async () => {
  const { t, owner } = receiving;
  const webhook = await make({ types: ['agent.created'] });
  const command = await createTestService({ sameDatabaseAs: t, serves: false });
  await command.legate.agents.create({ ownerId: owner.id, name: 'seeded', type: 'service' });
  await deliverAll(command);
  await command.legate.close();
  await deliverAll(t);
  expect(at(pathOf(webhook))).toHaveLength(1);
  expect(await deliveries(webhook)).toMatchObject([{ status: 'delivered', attempts: 1 }]);
});
