import { type Agent, type AgentKeys, LegateError, type SetAgentKeysRequest } from 'legate/client';
import { legate, rights } from '../api.ts';
import { isConflict } from '../parts/conflict.tsx';
import { Action } from '../parts/dialog.tsx';
import { FormButton } from '../parts/form.tsx';
import { useKept } from '../parts/hooks.tsx';
import { Empty, Result, Section } from '../parts/screen.tsx';
import { Table } from '../parts/table.tsx';
import { Id, jsonOf, Time, Untrusted } from '../parts/text.tsx';
import { t } from '../texts/index.ts';

const STALE = ['agents', 'changes'];

type Key = NonNullable<AgentKeys['jwks']>['keys'][number];

/** Replaces the keys of an agent if they are still the given ones; null: it has none. The service checks the keys. */
const setKeys = (agentId: string, from: AgentKeys | null, to: object, reason: string | undefined): Promise<AgentKeys> =>
  legate.agents.keys.set(
    agentId,
    { ...to, reason } as SetAgentKeysRequest,
    from === null ? { headers: { 'if-none-match': '*' } } : { ifMatch: from },
  );

/** Returns the keys of an agent; null if it has none. */
async function findKeys(agentId: string): Promise<AgentKeys | null> {
  try {
    return await legate.agents.keys.get(agentId);
  } catch (error) {
    if (error instanceof LegateError && error.code === 'AGENT_KEYS_NOT_FOUND') return null;
    throw error;
  }
}

/** The public keys with which the agent authenticates at the OAuth endpoints. */
export function Keys({ agent }: { agent: Agent }) {
  const found = useKept(['agents', 'keys', agent.id], () => findKeys(agent.id));
  const mayChange = rights.write && agent.status !== 'revoked';
  return (
    <Section
      title={t.publicKeys}
      aside={
        mayChange && (
          <div className="actions">
            <SetKeys agent={agent} />
            {/* A key cannot be added to those of an address. */}
            {found.data !== undefined && found.data?.jwksUri === undefined && <MakeKey agent={agent} />}
          </div>
        )
      }
    >
      <p>{t.keysText}</p>
      <Result of={found}>
        {(keys) =>
          keys === null ? (
            <Empty>{t.noKeys}</Empty>
          ) : (
            <>
              {keys.jwksUri === undefined ? (
                <KeyTable agent={agent} keys={keys} mayChange={mayChange} />
              ) : (
                <p>
                  {t.keysAt}: <Untrusted mono>{keys.jwksUri}</Untrusted>
                </p>
              )}
              <p className="quiet small">
                {t.changedLast} <Time at={keys.updatedAt} />
              </p>
              {mayChange && (
                <div className="actions">
                  <Action
                    danger
                    label={t.endKeys}
                    question={t.endKeysQuestion(agent.name)}
                    text={t.endKeysText}
                    run={(reason) => legate.agents.keys.delete(agent.id, { reason }, { ifMatch: keys })}
                    stale={STALE}
                  />
                </div>
              )}
            </>
          )
        }
      </Result>
    </Section>
  );
}

const kindOf = ({ kty, ...key }: Key): string => [kty, key['crv'] ?? key['alg']].filter(Boolean).join(' ');

function KeyTable({ agent, keys: from, mayChange }: { agent: Agent; keys: AgentKeys; mayChange: boolean }) {
  const keys = from.jwks?.keys ?? [];
  return (
    <Table
      caption={t.publicKeys}
      rows={keys}
      rowKey={(key) => JSON.stringify(key)}
      columns={[
        { label: t.keyId, cell: ({ kid }) => (kid === undefined ? '–' : <Id>{kid}</Id>) },
        { label: t.keyKind, cell: (key) => <Untrusted mono>{kindOf(key)}</Untrusted> },
        // The last key is removed with the button for all keys.
        ...(mayChange && keys.length > 1
          ? [
              {
                label: t.change,
                cell: (key: Key) => (
                  <Action
                    danger
                    label={t.endKey}
                    question={t.endKeyQuestion(key.kid ?? kindOf(key))}
                    text={t.endKeysText}
                    run={(reason) =>
                      setKeys(agent.id, from, { jwks: { keys: keys.filter((one) => one !== key) } }, reason)
                    }
                    stale={STALE}
                  />
                ),
              },
            ]
          : []),
      ]}
    />
  );
}

/** Creates a pair of keys in the browser, adds the public key, and returns the private one. */
async function makeKey(agentId: string, reason: string | undefined): Promise<string> {
  const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
  const { kty, crv, x, y, d } = await crypto.subtle.exportKey('jwk', pair.privateKey);
  const kid = crypto.randomUUID();
  const publicKey = { kid, kty: kty as string, crv, x, y, alg: 'ES256', use: 'sig' };
  await addKey(agentId, publicKey, reason);
  return JSON.stringify({ ...publicKey, d });
}

/** Adds a key to those of the agent, including keys that others add at the same time. */
async function addKey(agentId: string, key: Key, reason: string | undefined): Promise<void> {
  for (;;) {
    const present = await findKeys(agentId);
    if (present?.jwksUri !== undefined) throw new Error(t.keysFromAddress);
    const keys = present?.jwks?.keys ?? [];
    // The first request may have added the key although its response was lost.
    if (keys.some(({ kid }) => kid === key.kid)) return;
    try {
      await setKeys(agentId, present, { jwks: { keys: [...keys, key] } }, reason);
      return;
    } catch (error) {
      if (!isConflict(error as Error)) throw error;
    }
  }
}

const MakeKey = ({ agent }: { agent: Agent }) => (
  <Action
    label={t.makeKey}
    question={t.makeKeyQuestion(agent.name)}
    text={t.makeKeyText}
    run={(reason) => makeKey(agent.id, reason)}
    secret={(key: string) => key}
    stale={STALE}
  />
);

function setProblem(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch {
    return t.jsonInvalid;
  }
}

const SetKeys = ({ agent }: { agent: Agent }) => (
  <FormButton<'as' | 'jwks' | 'jwksUri', AgentKeys | null>
    label={t.setKeys}
    stale={STALE}
    inputs={({ as }) => [
      {
        name: 'as',
        label: t.keysAs,
        hint: t.setKeysHint,
        options: (['set', 'address'] as const).map((way) => [way, t.keysAsChoices[way]] as const),
      },
      as === 'address'
        ? { name: 'jwksUri', label: t.jwksUri, type: 'url' }
        : { name: 'jwks', label: t.jwks, hint: t.jwksHint, type: 'lines', wrong: setProblem },
    ]}
    edited={{
      id: agent.id,
      type: 'agent.keys',
      load: () => findKeys(agent.id),
      values: (keys) => ({
        as: keys?.jwksUri === undefined ? 'set' : 'address',
        jwks: keys?.jwks ? jsonOf(keys.jwks) : '',
        jwksUri: keys?.jwksUri ?? '',
      }),
    }}
    run={({ as, jwks, jwksUri }, of, reason) =>
      setKeys(agent.id, of, as === 'address' ? { jwksUri: jwksUri.trim() } : { jwks: JSON.parse(jwks) }, reason)
    }
  />
);
