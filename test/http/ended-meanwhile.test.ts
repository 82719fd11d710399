import { describe, expect, it, vi } from 'vitest';
import { SYSTEM } from '../../src/access/actor.ts';
import { asId } from '../../src/kernel/ids.ts';
import { createSession } from '../../src/people/sessions/index.ts';
import { createTestService, type TestService, type TestUser } from '../support/service.ts';
import { untilPasses } from '../support/until.ts';
import { matrix, type Row } from './matrix.cases.ts';
import { newScene } from './matrix.scene.ts';

/** Endpoints that do not wait for the ledger: they only evaluate a question, or repeat a delivery. */
const WITHOUT_CHANGE: ReadonlySet<string> = new Set([
  'POST /api/legate/oauth/introspect',
  'POST /agents/:id/permissions/replay',
  'POST /webhooks/:id/test',
]);

let service: Promise<TestService> | undefined;
const shared = (): Promise<TestService> =>
  (service ??= createTestService({ lasting: true, config: { webhooks: { allowPrivateNetworks: true } } }));

const allows = (status: number | undefined): boolean => status !== undefined && status < 400;
const isForOwner = ({ want }: Row): boolean => allows(want.owner) || allows(want.ownerByCookie);
const isChange = ([endpoint, row]: [string, Row]): boolean =>
  !/^(GET|HEAD) /.test(endpoint) && !WITHOUT_CHANGE.has(endpoint) && (isForOwner(row) || allows(row.want.admin));

/** A session of the person whom a row permits: the owner, or an administrator. */
async function callerOf(t: TestService, row: Row, owner: TestUser): Promise<{ id: string; token: string }> {
  const { id } = isForOwner(row) ? owner : await t.admin();
  const { token } = await t.legate.platform.ledger.change(SYSTEM, (change) =>
    createSession(t.legate.platform, change, id, { ip: null, userAgent: null }, 'test'),
  );
  return { id, token };
}

const rowsOfLedger = async (t: TestService): Promise<string[]> => {
  const rows = await t.legate.platform.database.read.selectFrom('stream_events').select(['seq', 'type']).execute();
  return rows.map(({ seq, type }) => `${seq} ${type}`);
};

describe('a session that ends while a request waits for the ledger', () => {
  it.each(Object.entries(matrix).filter(isChange))(
    '%s: 401, and nothing is changed or decided',
    async (endpoint, row) => {
      const t = await shared();
      const scene = await newScene(t);
      const caller = await callerOf(t, row, scene.owner);
      const { path, body } = await row.target(scene);
      const form = body instanceof URLSearchParams && {
        raw: body.toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      };
      const { ledger } = t.legate.platform;
      const [changing, deciding] = [vi.spyOn(ledger, 'change'), vi.spyOn(ledger, 'decide')];
      const isWaiting = (): boolean =>
        deciding.mock.calls.length > 0 || changing.mock.calls.some(([by]) => by.id === caller.id);
      // An erasure waits for the copies of changes before it waits for the ledger.
      await t.legate.changes.list();
      const before = await rowsOfLedger(t);
      let answer: ReturnType<TestService['call']> | undefined;
      await ledger.change(SYSTEM, async (change) => {
        answer = t.call(endpoint.split(' ')[0] as string, path, {
          as: caller.token,
          ...(form || (body === undefined ? {} : { body })),
        });
        await untilPasses(() => expect(isWaiting()).toBe(true));
        await change.db.deleteFrom('sessions').where('user_id', '=', asId('user', caller.id)).execute();
        change.invalidate();
      });
      expect((await answer)?.status).toBe(401);
      expect(await rowsOfLedger(t)).toEqual(before);
      changing.mockRestore();
      deciding.mockRestore();
    },
  );
});
