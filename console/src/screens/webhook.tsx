import { useNavigate } from '@tanstack/react-router';
import type { WebhookDelivery } from 'legate/client';
import { legate, rights, serverNow } from '../api.ts';
import { Action } from '../parts/dialog.tsx';
import { useAddress, useKept, useParam } from '../parts/hooks.tsx';
import { Result, Screen, Section } from '../parts/screen.tsx';
import { EmptyPage, Pager, Table } from '../parts/table.tsx';
import { Id, Json, Status, Time, Untrusted } from '../parts/text.tsx';
import { t } from '../texts/index.ts';
import { filterText } from './audit-filter.ts';
import { WebhookForm } from './connection-forms.tsx';
import { WebhookCheck } from './webhook-check.tsx';

const STALE = ['webhooks', 'dashboard'];
const DAY_MS = 86_400_000;

/** One webhook: its deliveries, their attempts and the responses of the receiver. */
export function WebhookScreen() {
  const id = useParam('id');
  const [{ cursor, delivery }, setAddress] = useAddress();
  const navigate = useNavigate();
  const webhook = useKept(['webhooks', 'one', id], () => legate.webhooks.get(id));
  const deliveries = useKept(['webhooks', 'deliveries', id, cursor], () =>
    legate.webhooks.deliveries(id, { limit: 30 }).page(cursor),
  );
  return (
    <Screen
      title={t.webhook}
      curl={`/webhooks/${id}`}
      actions={
        rights.write &&
        webhook.data && (
          <>
            <WebhookForm id={id} />
            <Action
              label={t.sendTest}
              question={t.sendTestQuestion}
              run={(reason) => legate.webhooks.test(id, { reason })}
              stale={STALE}
              withReason={false}
            />
            <Action
              label={t.recover}
              question={t.recoverQuestion}
              text={t.recoverText}
              run={(reason) =>
                legate.webhooks.recover(id, { since: new Date(serverNow() - DAY_MS).toISOString(), reason })
              }
              stale={STALE}
            />
            <Action
              label={t.rotateSecret}
              question={t.rotateSecretQuestion}
              run={(reason) => legate.webhooks.rotate(id, { reason })}
              secret={(answer: { secret: string }) => answer.secret}
              stale={STALE}
            />
            <Action
              label={webhook.data.enabled ? t.disable : t.enable}
              question={webhook.data.enabled ? t.disableQuestion : t.enableQuestion}
              run={(reason) => legate.webhooks.update(id, { enabled: !webhook.data.enabled, reason })}
              stale={STALE}
            />
            <Action
              danger
              label={t.remove}
              question={t.removeQuestion(webhook.data.url)}
              run={(reason) => legate.webhooks.delete(id, { reason })}
              stale={STALE}
              done={() => void navigate({ to: '/connections/webhooks' })}
            />
          </>
        )
      }
    >
      <Result of={webhook}>
        {(w) => (
          <dl className="facts">
            <dt>{t.address}</dt>
            <dd>
              <Untrusted mono>{w.url}</Untrusted>
            </dd>
            <dt>{t.id}</dt>
            <dd>
              <Id>{w.id}</Id>
            </dd>
            <dt>{t.state}</dt>
            <dd>
              <Status of={w.enabled ? 'enabled' : 'disabled'} />{' '}
              {w.disabledReason && <Untrusted>{w.disabledReason}</Untrusted>}
            </dd>
            <dt>{t.eventTypes}</dt>
            <dd>
              <Untrusted mono>{w.types?.join(', ') ?? t.any}</Untrusted>
            </dd>
            {w.filters && (
              <>
                <dt>{t.filter}</dt>
                <dd>
                  <Untrusted mono>{filterText(w.filters)}</Untrusted>
                </dd>
              </>
            )}
            {w.format && (
              <>
                <dt>{t.messageFormat}</dt>
                <dd>{t.messageFormats[w.format as 'slack'] ?? w.format}</dd>
              </>
            )}
          </dl>
        )}
      </Result>
      {(webhook.data || !webhook.error) && (
        <>
          <Section title={t.deliveries}>
            <Result of={deliveries}>
              {({ items, next }) =>
                items.length === 0 ? (
                  <EmptyPage cursor={cursor}>{t.noDeliveries}</EmptyPage>
                ) : (
                  <>
                    <SuccessOf deliveries={items} />
                    <Table
                      caption={t.deliveries}
                      rows={items}
                      rowKey={(d) => d.id}
                      columns={[
                        { label: t.time, cell: (d) => <Time at={d.createdAt} /> },
                        { label: t.event, cell: (d) => <code>{d.type}</code> },
                        { label: t.state, cell: (d) => <Status of={d.status} /> },
                        { label: t.attempts, num: true, cell: (d) => d.attempts },
                        { label: t.lastError, cell: (d) => (d.lastError ? <Untrusted>{d.lastError}</Untrusted> : '–') },
                        {
                          label: t.change,
                          cell: (d) => (
                            <div className="actions">
                              <button type="button" className="button" onClick={() => setAddress({ delivery: d.id })}>
                                {t.open}
                              </button>
                              {rights.write && d.status === 'dropped' && <Redeliver delivery={d} />}
                            </div>
                          ),
                        },
                      ]}
                    />
                    <Pager next={next} cursor={cursor} go={(c) => setAddress({ cursor: c })} />
                  </>
                )
              }
            </Result>
          </Section>
          {delivery && <Delivery id={delivery} />}
        </>
      )}
    </Screen>
  );
}

/** Share of successful deliveries among the completed ones on the page. */
function SuccessOf({ deliveries }: { deliveries: readonly WebhookDelivery[] }) {
  const over = deliveries.filter(({ status }) => status !== 'pending');
  const delivered = over.filter(({ status }) => status === 'delivered').length;
  return over.length > 0 && <p className="quiet">{t.delivered(delivered, over.length)}</p>;
}

const Redeliver = ({ delivery }: { delivery: WebhookDelivery }) => (
  <Action
    label={t.redeliver}
    question={t.redeliverQuestion}
    run={(reason) => legate.webhooks.redeliver(delivery.id, { reason })}
    stale={STALE}
    withReason={false}
  />
);

function Delivery({ id }: { id: string }) {
  const delivery = useKept(['webhooks', 'delivery', id], () => legate.webhooks.delivery(id));
  return (
    <Section title={t.delivery}>
      <Result of={delivery}>
        {(d) => (
          <>
            <Table
              caption={t.attempts}
              rows={d.log}
              rowKey={(a) => a.at}
              columns={[
                { label: t.time, cell: (a) => <Time at={a.at} /> },
                { label: t.state, cell: (a) => a.status ?? a.error ?? '–' },
                { label: t.duration, num: true, cell: (a) => `${a.durationMs} ms` },
                { label: t.answer, cell: (a) => (a.answer ? <Untrusted mono>{a.answer}</Untrusted> : '–') },
              ]}
            />
            <h3>{t.payload}</h3>
            <Json value={d.payload} />
            <WebhookCheck key={d.id} delivery={d} />
          </>
        )}
      </Result>
    </Section>
  );
}
