import type { Tenant } from 'legate/client';
import { legate, rights } from '../api.ts';
import { Action } from '../parts/dialog.tsx';
import { FormButton } from '../parts/form.tsx';
import { useAddress, useKept } from '../parts/hooks.tsx';
import { Result } from '../parts/screen.tsx';
import { EmptyPage, Pager, Table } from '../parts/table.tsx';
import { Time, Untrusted } from '../parts/text.tsx';
import { t } from '../texts/index.ts';

const STALE = ['people', 'changes'];

export function Tenants() {
  const [{ cursor }, setAddress] = useAddress();
  const tenants = useKept(['people', 'tenants', cursor], () => legate.tenants.list({ limit: 50 }).page(cursor));
  return (
    <Result of={tenants}>
      {({ items, next }) =>
        items.length === 0 ? (
          <EmptyPage cursor={cursor}>{t.noTenants}</EmptyPage>
        ) : (
          <>
            <Table
              caption={t.tenants}
              rows={items}
              rowKey={(x) => x.id}
              columns={[
                { label: t.name, cell: (x) => <Untrusted>{x.name}</Untrusted> },
                { label: t.slug, cell: (x) => <Untrusted mono>{x.slug}</Untrusted> },
                { label: t.id, cell: (x) => <code>{x.id}</code> },
                { label: t.created, cell: (x) => <Time at={x.createdAt} /> },
                ...(rights.admin ? [{ label: t.change, cell: (x: Tenant) => <Acts tenant={x} /> }] : []),
              ]}
            />
            <Pager next={next} cursor={cursor} go={(c) => setAddress({ cursor: c })} />
          </>
        )
      }
    </Result>
  );
}

const Acts = ({ tenant }: { tenant: Tenant }) => (
  <div className="actions">
    <TenantForm id={tenant.id} name={tenant.name} />
    <Action
      danger
      label={t.remove}
      question={t.removeQuestion(tenant.name)}
      text={t.removeTenantText}
      run={(reason) => legate.tenants.delete(tenant.id, { reason })}
      stale={STALE}
    />
  </div>
);

/** Registers a tenant, or changes an existing one. */
export const TenantForm = ({ id, name = '' }: { id?: string; name?: string }) => (
  <FormButton<'name' | 'slug', Tenant | undefined>
    label={id ? t.edit : t.registerTenant}
    title={id ? t.editOf(name) : t.registerTenant}
    stale={STALE}
    inputs={[
      { name: 'name', label: t.name, maxLength: 200 },
      { name: 'slug', label: t.slug, hint: t.slugHint, optional: id === undefined, maxLength: 63 },
    ]}
    {...(id && {
      edited: {
        id,
        type: 'tenant.updated',
        load: () => legate.tenants.get(id),
        values: (x: Tenant | undefined) => ({ name: x?.name ?? '', slug: x?.slug ?? '' }),
      },
    })}
    run={({ name: given, slug }, of, reason) =>
      of
        ? legate.tenants.update(of.id, { name: given, slug, reason }, { ifMatch: of })
        : legate.tenants.create({ name: given, ...(slug && { slug }) })
    }
  />
);
