import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { CreateIssuerRequest, Issuer } from 'legate/client';
import { useState } from 'react';
import { asCurl, legate, queries, REST, rights } from '../api.ts';
import { Action, Dialog } from '../parts/dialog.tsx';
import { Field, Select, useKept, useParam } from '../parts/hooks.tsx';
import { Empty, ErrorNotice, Result, Screen, Section } from '../parts/screen.tsx';
import { Table } from '../parts/table.tsx';
import { CopyButton, Id, Time, Untrusted } from '../parts/text.tsx';
import { t } from '../texts/index.ts';

const USES = ['signIn', 'workload', 'enterprise'] as const;
type Use = (typeof USES)[number];
/** github is not offered: it cannot be added without its secret, which is not given to a page with scripts. */
const PRESETS = ['google', 'microsoft', 'okta', 'auth0', 'keycloak', 'gitlab'] as const;
type Preset = (typeof PRESETS)[number];
const STALE = ['people', 'changes'];

/** The issuers whose tokens this service accepts, and the address for directories. */
export function Issuers() {
  const issuers = useKept(['people', 'issuers'], () => legate.issuers.list());
  const [adding, setAdding] = useState(false);
  return (
    <>
      <Section
        title={t.issuers}
        aside={
          rights.admin && (
            <button type="button" className="button" onClick={() => setAdding(true)}>
              {t.addIssuer}
            </button>
          )
        }
      >
        <Result of={issuers}>
          {(rows) =>
            rows.length === 0 ? (
              <Empty>{t.noIssuers}</Empty>
            ) : (
              <Table
                caption={t.issuers}
                rows={rows}
                rowKey={(i) => i.id}
                columns={[
                  {
                    label: t.name,
                    cell: (i) => (
                      <Link to={`/people/issuers/${i.id}`}>
                        <Untrusted>{i.name}</Untrusted>
                      </Link>
                    ),
                  },
                  { label: t.address, cell: (i) => <Untrusted mono>{i.issuer}</Untrusted> },
                  { label: t.issuerUse, cell: (i) => <Uses of={i} /> },
                  { label: t.issuerDomains, cell: (i) => <Untrusted>{i.domains?.join(', ') || '–'}</Untrusted> },
                  { label: t.created, cell: (i) => (i.createdAt ? <Time at={i.createdAt} /> : t.inConfiguration) },
                ]}
              />
            )
          }
        </Result>
      </Section>
      <Section title={t.directory}>
        <p>{t.directoryText}</p>
        <Copied label={t.directoryAddress} text={`${location.origin}${REST}/scim/v2`} />
      </Section>
      {adding && <IssuerDialog close={() => setAdding(false)} />}
    </>
  );
}

const Uses = ({ of }: { of: Issuer }) => (
  <div className="tags">
    {of.uses.map((use) => (
      <span className="tag" key={use}>
        {t.issuerUses[use as Use] ?? use}
      </span>
    ))}
  </div>
);

const Copied = ({ label, text }: { label: string; text: string }) => (
  <p>
    <Untrusted mono>{text}</Untrusted> <CopyButton text={text} label={t.copyId(label)} />
  </p>
);

/** One issuer: what its tokens may do here, and what it says about people. */
export function IssuerScreen() {
  const id = useParam('id');
  const navigate = useNavigate();
  const issuer = useKept(['people', 'issuer', id], () => legate.issuers.get(id));
  const [editing, setEditing] = useState(false);
  const mayChange = rights.admin && issuer.data?.source === 'api';
  return (
    <Screen
      title={issuer.data?.name ?? t.issuer}
      curl={`/issuers/${id}`}
      actions={
        mayChange && (
          <>
            <button type="button" className="button" onClick={() => setEditing(true)}>
              {t.edit}
            </button>
            <Action
              danger
              label={t.remove}
              question={t.removeQuestion(issuer.data?.name ?? '')}
              text={t.removeIssuerText}
              run={(reason) => legate.issuers.delete(id, { reason })}
              done={() => void navigate({ to: '/people/issuers' as never })}
              stale={STALE}
            />
          </>
        )
      }
    >
      <Result of={issuer}>{(one) => <IssuerFacts issuer={one} />}</Result>
      {editing && issuer.data && <IssuerDialog issuer={issuer.data} close={() => setEditing(false)} />}
    </Screen>
  );
}

function IssuerFacts({ issuer: i }: { issuer: Issuer }) {
  const callback = `${location.origin}${REST}/auth/oidc/${i.name}/callback`;
  const secret = asCurl(`/issuers/${i.id}`, 'PATCH', { clientSecret: '...' });
  const signsIn = i.uses.includes('signIn');
  return (
    <>
      {i.source === 'configuration' && <p>{t.issuerOfConfiguration}</p>}
      <dl className="facts across">
        <dt>{t.address}</dt>
        <dd>
          <Untrusted mono>{i.issuer}</Untrusted>
        </dd>
        <dt>{t.issuerUse}</dt>
        <dd>
          <Uses of={i} />
        </dd>
        <dt>{t.issuerDomains}</dt>
        <dd>
          <Untrusted>{i.domains?.join(', ') || '–'}</Untrusted>
        </dd>
        <dt>{t.audience}</dt>
        <dd>{i.audience ? <Untrusted mono>{i.audience}</Untrusted> : t.ownAddress}</dd>
        <dt>{t.algorithms}</dt>
        <dd>{i.algorithms.join(', ')}</dd>
        <dt>{t.publicKeys}</dt>
        <dd>{i.jwksUri ? <Untrusted mono>{i.jwksUri}</Untrusted> : t.fromItsDocument}</dd>
        {i.clientId && (
          <>
            <dt>{t.clientId}</dt>
            <dd>
              <Untrusted mono>{i.clientId}</Untrusted>
            </dd>
          </>
        )}
        {i.uses.includes('enterprise') && (
          <>
            <dt>{t.applications}</dt>
            <dd>{i.enterprise?.required ? t.enterpriseRequired : t.enterpriseOptional}</dd>
          </>
        )}
        <dt>{t.id}</dt>
        <dd>
          <Id>{i.id}</Id>
        </dd>
      </dl>
      {signsIn && (
        <Section title={t.atTheProvider}>
          <p>{t.atTheProviderText}</p>
          <Copied label={t.redirects} text={callback} />
          {i.source === 'api' && (
            <details>
              <summary>{t.clientSecret}</summary>
              <p>{t.clientSecretText}</p>
              <Copied label={t.clientSecret} text={secret} />
            </details>
          )}
        </Section>
      )}
      {signsIn && (
        <Section title={t.mappings}>
          {i.map?.length ? (
            <Table
              caption={t.mappings}
              rows={i.map}
              rowKey={(m) => JSON.stringify(m)}
              columns={[
                { label: t.claim, cell: (m) => <Untrusted mono>{m.claim}</Untrusted> },
                { label: t.value, cell: (m) => <Untrusted mono>{m.value}</Untrusted> },
                { label: t.role, cell: (m) => (m.role ? (t.roles[m.role as 'user'] ?? m.role) : '–') },
                { label: t.tenant, cell: (m) => <Untrusted>{m.tenant ?? '–'}</Untrusted> },
              ]}
            />
          ) : (
            <Empty>{t.noMappings}</Empty>
          )}
        </Section>
      )}
    </>
  );
}

const words = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '');

/** Adds an issuer, or changes the one that is given, unless somebody else has done so meanwhile. */
function IssuerDialog({ issuer, close }: { issuer?: Issuer; close: () => void }) {
  const [preset, setPreset] = useState<Preset | ''>('');
  const [name, setName] = useState(issuer?.name ?? '');
  const [address, setAddress] = useState('');
  const [uses, setUses] = useState<readonly Use[]>((issuer?.uses as Use[] | undefined) ?? ['signIn']);
  const [clientId, setClientId] = useState(issuer?.clientId ?? '');
  const [domains, setDomains] = useState(issuer?.domains?.join(' ') ?? '');
  const [required, setRequired] = useState(issuer?.enterprise?.required ?? false);
  const save = useMutation({
    mutationFn: () => {
      const fields = { name, uses, enterprise: { required: required && uses.includes('enterprise') } };
      const [client, ofDomains] = [clientId.trim() || null, words(domains)];
      if (issuer)
        return legate.issuers.update(
          issuer.id,
          { ...fields, clientId: client, domains: ofDomains.length > 0 ? ofDomains : null },
          { ifMatch: issuer },
        );
      const request: CreateIssuerRequest = {
        ...fields,
        ...(preset && { preset }),
        ...(address.trim() && { issuer: address.trim() }),
        ...(client && { clientId: client }),
        ...(ofDomains.length > 0 && { domains: ofDomains }),
      };
      return legate.issuers.create(request);
    },
    onSuccess: () => {
      for (const key of STALE) void queries.invalidateQueries({ queryKey: [key] });
      close();
    },
  });
  const use = (one: Use, on: boolean): void =>
    setUses(USES.filter((each) => (each === one ? on : uses.includes(each))));
  return (
    <Dialog title={issuer ? t.editIssuer(issuer.name) : t.addIssuer} close={close}>
      <form
        className="form"
        onSubmit={(e) => {
          e.preventDefault();
          save.mutate();
        }}
      >
        {!issuer && (
          <Select
            label={t.provider}
            value={preset}
            options={[['', t.otherProvider] as const, ...PRESETS.map((one) => [one, t.providers[one]] as const)]}
            onChange={(one) => {
              setPreset(one);
              if (name === '' || name === preset) setName(one);
            }}
          />
        )}
        <Field label={t.name} hint={t.issuerNameHint}>
          {(id) => (
            <input
              id={id}
              required
              pattern="[a-z0-9][a-z0-9\-]{0,62}"
              value={name}
              onChange={(e) => setName(e.target.value)}
            />
          )}
        </Field>
        {!issuer && (
          <Field label={t.issuerAddress} hint={t.issuerAddressHint}>
            {(id) => (
              <input
                id={id}
                type="url"
                required={preset !== 'google' && preset !== 'gitlab'}
                value={address}
                onChange={(e) => setAddress(e.target.value)}
              />
            )}
          </Field>
        )}
        <fieldset>
          <legend>{t.issuerUse}</legend>
          {USES.map((one) => (
            <label key={one} className="check">
              <input type="checkbox" checked={uses.includes(one)} onChange={(e) => use(one, e.target.checked)} />{' '}
              {t.issuerUses[one]}
            </label>
          ))}
        </fieldset>
        {uses.includes('signIn') && (
          <Field label={t.clientId} hint={t.clientIdHint}>
            {(id) => <input id={id} required value={clientId} onChange={(e) => setClientId(e.target.value)} />}
          </Field>
        )}
        <Field label={t.issuerDomains} hint={t.issuerDomainsHint}>
          {(id) => <input id={id} value={domains} onChange={(e) => setDomains(e.target.value)} />}
        </Field>
        {uses.includes('enterprise') && (
          <label className="check">
            <input type="checkbox" checked={required} onChange={(e) => setRequired(e.target.checked)} />{' '}
            {t.enterpriseRequired}
          </label>
        )}
        {save.error && <ErrorNotice error={save.error} />}
        <div className="actions">
          <button type="button" className="button" onClick={close}>
            {t.cancel}
          </button>
          <button type="submit" className="button primary" disabled={save.isPending || uses.length === 0}>
            {issuer ? t.save : t.addIssuer}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
