import { Link, useNavigate } from '@tanstack/react-router';
import type { Issuer } from 'legate/client';
import { asCurl, legate, REST, rights } from '../api.ts';
import { Action } from '../parts/dialog.tsx';
import { FormButton, wordsOf } from '../parts/form.tsx';
import { useKept, useParam } from '../parts/hooks.tsx';
import type { Input, Values } from '../parts/input.tsx';
import { Empty, Result, Screen, Section } from '../parts/screen.tsx';
import { Table } from '../parts/table.tsx';
import { CopyButton, Id, Time, Untrusted } from '../parts/text.tsx';
import { t } from '../texts/index.ts';

const USES = ['signIn', 'workload', 'enterprise'] as const;
type Use = (typeof USES)[number];
/** github is not offered, because it needs a client secret, which must not be entered on a page with scripts. */
const PRESETS = ['google', 'microsoft', 'okta', 'auth0', 'keycloak', 'gitlab'] as const;
type Preset = (typeof PRESETS)[number];
const STALE = ['people', 'changes'];

/** The issuers whose tokens this service accepts, and the address for directories. */
export function Issuers() {
  const issuers = useKept(['people', 'issuers'], () => legate.issuers.list());
  return (
    <>
      <Section title={t.issuers} aside={rights.admin && <IssuerForm />}>
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

/** One issuer: what its tokens allow, and which rules apply to its people. */
export function IssuerScreen() {
  const id = useParam('id');
  const navigate = useNavigate();
  const issuer = useKept(['people', 'issuer', id], () => legate.issuers.get(id));
  const mayChange = rights.admin && issuer.data?.source === 'api';
  return (
    <Screen
      title={issuer.data?.name ?? t.issuer}
      curl={`/issuers/${id}`}
      actions={
        mayChange && (
          <>
            {issuer.data && <IssuerForm issuer={issuer.data} />}
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

type Name = 'preset' | 'name' | 'address' | 'uses' | 'clientId' | 'domains' | 'required';

/** Adds an issuer, or changes an existing one. */
function IssuerForm({ issuer }: { issuer?: Issuer }) {
  return (
    <FormButton<Name, Issuer | undefined>
      primary={false}
      label={issuer ? t.edit : t.addIssuer}
      title={issuer ? t.editOf(issuer.name) : t.addIssuer}
      stale={STALE}
      inputs={({ preset = '', uses = 'signIn' }) => [
        ...(issuer
          ? []
          : [
              {
                name: 'preset',
                label: t.provider,
                options: [['', t.otherProvider], ...PRESETS.map((one) => [one, t.providers[one]] as const)],
                sets: (next: string, { preset: old = '', name = '' }: Partial<Values<Name>>) =>
                  name === '' || name === old ? { name: next } : {},
              } satisfies Input<Name>,
            ]),
        { name: 'name', label: t.name, hint: t.issuerNameHint, pattern: '[a-z0-9][a-z0-9\\-]{0,62}' },
        ...(issuer
          ? []
          : [
              {
                name: 'address',
                label: t.issuerAddress,
                hint: t.issuerAddressHint,
                type: 'url',
                optional: preset === 'google' || preset === 'gitlab',
                path: 'issuer',
              } satisfies Input<Name>,
            ]),
        {
          name: 'uses',
          label: t.issuerUse,
          type: 'several',
          options: USES.map((one) => [one, t.issuerUses[one]] as const),
          initial: 'signIn',
          wrong: (value) => (value === '' ? t.chooseOne : undefined),
        },
        ...(uses.includes('signIn')
          ? [{ name: 'clientId', label: t.clientId, hint: t.clientIdHint } satisfies Input<Name>]
          : []),
        { name: 'domains', label: t.issuerDomains, hint: t.issuerDomainsHint, optional: true },
        ...(uses.includes('enterprise')
          ? [{ name: 'required', label: t.enterpriseRequired, type: 'check', path: 'enterprise' } satisfies Input<Name>]
          : []),
      ]}
      {...(issuer && {
        edited: {
          id: issuer.id,
          type: 'issuer.updated',
          load: () => legate.issuers.get(issuer.id),
          values: (i: Issuer | undefined) => ({
            preset: '',
            name: i?.name ?? '',
            address: i?.issuer ?? '',
            uses: i?.uses.join(' ') ?? '',
            clientId: i?.clientId ?? '',
            domains: i?.domains?.join(' ') ?? '',
            required: i?.enterprise?.required ? 'true' : '',
          }),
        },
      })}
      run={({ preset, name, address, uses, clientId = '', domains, required = '' }, of, reason) => {
        const chosen = wordsOf(uses) as Use[];
        const fields = {
          name,
          uses: chosen,
          enterprise: { required: required !== '' && chosen.includes('enterprise') },
        };
        const [client, ofDomains] = [clientId.trim() || null, wordsOf(domains)];
        if (of)
          return legate.issuers.update(
            of.id,
            { ...fields, clientId: client, domains: ofDomains.length > 0 ? ofDomains : null, reason },
            { ifMatch: of },
          );
        return legate.issuers.create({
          ...fields,
          ...(preset && { preset: preset as Preset }),
          ...(address.trim() && { issuer: address.trim() }),
          ...(client && { clientId: client }),
          ...(ofDomains.length > 0 && { domains: ofDomains }),
        });
      }}
    />
  );
}
