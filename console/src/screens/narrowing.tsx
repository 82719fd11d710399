import { type Delegation, type EffectivePermission, LegateError, type Permission } from 'legate/client';
import { legate, rights } from '../api.ts';
import { covers, coversActions } from '../parts/covers.ts';
import { Consequences } from '../parts/dialog.tsx';
import { AgentLink, useKept, useNames } from '../parts/hooks.tsx';
import { Result, Section } from '../parts/screen.tsx';
import { Untrusted } from '../parts/text.tsx';
import { t } from '../texts/index.ts';
import { sentenceOf } from './permission-draft.ts';

/** Shows a link of a chain: what its source has, what it passes on, and which part of it is effective now. */
export function Narrowing({ id }: { id: string }) {
  const link = useKept(['delegations', 'link', id], async () => {
    const delegation = await legate.delegations.get(id);
    const [source, target] = await Promise.all([
      permissionsOf(delegation.fromAgent),
      permissionsOf(delegation.toAgent),
    ]);
    return { delegation, source, target };
  });
  return (
    <Result of={link} lines={4}>
      {({ delegation, source, target }) => <Link delegation={delegation} source={source} target={target} />}
    </Result>
  );
}

/** undefined if the agent belongs to someone else, so that its permissions are not visible. */
const permissionsOf = (id: string): Promise<readonly EffectivePermission[] | undefined> =>
  legate.agents.permissions(id).catch((error: unknown) => {
    if (error instanceof LegateError && error.status === 404) return undefined;
    throw error;
  });

const through = (id: string) => (p: EffectivePermission) =>
  p.source.type === 'delegation' && p.source.delegationIds.includes(id);

function Link({
  delegation: d,
  source,
  target,
}: {
  delegation: Delegation;
  source: readonly EffectivePermission[] | undefined;
  target: readonly EffectivePermission[] | undefined;
}) {
  const nameOf = useNames([d.fromAgent, d.toAgent]);
  const [from, to] = [nameOf(d.fromAgent) ?? d.fromAgent, nameOf(d.toAgent) ?? d.toAgent];
  const arriving = target?.filter(through(d.id));
  const arrives = (p: Permission): boolean =>
    !arriving || arriving.some((e) => covers(p.resource, e.resource) && coversActions(p.actions, e.actions));
  const without = useKept(
    ['preview', 'revoke', d.id],
    () => legate.delegations.revoke(d.id, { preview: true }),
    rights.write,
  );
  return (
    <Section title={t.narrowing(from, to)}>
      <div className="columns">
        <div className="section">
          <h3>
            {t.heldBy} <AgentLink id={d.fromAgent} name={from} />
          </h3>
          <List of={source} />
        </div>
        <div className="section">
          <h3>{t.passes}</h3>
          <ul className="form">
            {d.permissions.map((p, i) => (
              <li key={i}>
                {arrives(p) ? (
                  <Untrusted>{sentenceOf(p)}</Untrusted>
                ) : (
                  <>
                    <s>
                      <Untrusted>{sentenceOf(p)}</Untrusted>
                    </s>{' '}
                    <span className="status limited">
                      <Untrusted>{t.noEffect(from)}</Untrusted>
                    </span>
                  </>
                )}
              </li>
            ))}
          </ul>
        </div>
        <div className="section">
          <h3>
            {t.arrives} <AgentLink id={d.toAgent} name={to} />
          </h3>
          <List of={arriving} />
        </div>
      </div>
      {rights.write && (
        <div className="section">
          <h3>{t.ifRevoked}</h3>
          <Result of={without} lines={2}>
            {(preview) => <Consequences of={preview} />}
          </Result>
        </div>
      )}
    </Section>
  );
}

const List = ({ of }: { of: readonly EffectivePermission[] | undefined }) =>
  of === undefined ? (
    <p className="quiet">{t.notYours}</p>
  ) : of.length === 0 ? (
    <p className="quiet">{t.nothingHere}</p>
  ) : (
    <ul className="form">
      {of.map((p, i) => (
        <li key={i}>
          <Untrusted>{sentenceOf(p)}</Untrusted>
        </li>
      ))}
    </ul>
  );
