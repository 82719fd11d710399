import { useMutation } from '@tanstack/react-query';
import type { Permission } from 'legate/client';
import { useState } from 'react';
import { asCurl, legate, serverNow } from '../api.ts';
import { draftAt, useDraft } from '../drafts.ts';
import { AgentLink, Field, useAddress, useAgentChoices, useKept } from '../parts/hooks.tsx';
import { Empty, ErrorNotice, Result, Screen, Section } from '../parts/screen.tsx';
import { Table } from '../parts/table.tsx';
import { CopyText, Json, Status, Untrusted, visible } from '../parts/text.tsx';
import { t } from '../texts/index.ts';
import { Trace } from './entry.tsx';
import type { FixtureFile } from './fixture-read.ts';
import { FixtureTests } from './fixture-tests.tsx';

/** Texts that take more characters in an address stay out of it, because servers limit its length. */
const MAX_IN_ADDRESS = 2000;
const isTooLong = (text: string): boolean => new URLSearchParams({ text }).toString().length > MAX_IN_ADDRESS;

/** Texts that are too long for the address, and the other texts next to them. */
interface Unsent<N extends string> {
  readonly long: Partial<Readonly<Record<N, string>>>;
  readonly short: Partial<Readonly<Record<N, string>>>;
}

/** Texts in the address, or as a draft if they are too long for it. */
function useLongTexts<N extends string>(
  names: readonly N[],
): [Readonly<Record<N, string>>, (name: N, text: string) => void] {
  const [address, setAddress] = useAddress();
  const [long, setLong] = useState((): Unsent<N>['long'] => {
    const draft = draftAt<Unsent<N>>('question texts');
    // An address with other texts is that of another question.
    return draft && names.every((name) => !address[name] || address[name] === draft.short[name]) ? draft.long : {};
  });
  const short = Object.fromEntries(names.map((name) => [name, address[name]])) as Unsent<N>['short'];
  useDraft('question texts', Object.keys(long).length > 0 ? { long, short } : undefined);
  const texts = Object.fromEntries(names.map((name) => [name, long[name] ?? address[name] ?? ''])) as Record<N, string>;
  return [
    texts,
    (name, text) => {
      const { [name]: _, ...others } = long;
      const isLong = isTooLong(text);
      setLong((isLong ? { ...others, [name]: text } : others) as typeof long);
      setAddress({ [name]: isLong ? undefined : text });
    },
  ];
}

/** Asks a question as a dry run: nothing is recorded or counted. */
export function Playground() {
  const [{ agentId = '', action = '', resource = '', ip = '', at = '' }, setAddress] = useAddress();
  const [{ args, draft }, setText] = useLongTexts(['args', 'draft']);
  const [problem, setProblem] = useState<string>();
  const agents = useAgentChoices();
  const question = (): Parameters<typeof legate.authorize>[0] => ({
    agentId,
    action,
    resource,
    ...(args.trim() && { arguments: JSON.parse(args) as Record<string, unknown> }),
    ...(draft.trim() && { permissions: JSON.parse(draft) as Permission[] }),
    ...(ip.trim() && { context: { ip: ip.trim() } }),
    ...(at && { at: new Date(at).toISOString() }),
    dryRun: true,
    explain: true,
  });
  /** The question, without its arguments while they are invalid. */
  const questionOrPart = (): object => {
    try {
      return question();
    } catch {
      return { agentId, action, resource, dryRun: true, explain: true };
    }
  };
  const ask = useMutation({ mutationFn: (asked: ReturnType<typeof question>) => legate.authorize(asked) });
  const input = (label: string, name: string, value: string, list?: string) => (
    <Field label={label}>
      {(id) => (
        <input
          id={id}
          className="mono"
          required
          list={list}
          value={value}
          onChange={(e) => setAddress({ [name]: e.target.value })}
        />
      )}
    </Field>
  );
  return (
    <Screen title={t.nav.playground}>
      <p className="hint">{t.playgroundHint}</p>
      <form
        className="form"
        onSubmit={(e) => {
          e.preventDefault();
          try {
            const asked = question();
            setProblem(undefined);
            ask.mutate(asked);
          } catch {
            setProblem(t.jsonInvalid);
          }
        }}
      >
        <datalist id="agents">
          {agents.map(([id, name]) => (
            <option key={id} value={id}>
              {visible(name)}
            </option>
          ))}
        </datalist>
        <div className="grid2">
          {input(t.agent, 'agentId', agentId, 'agents')}
          {input(t.action, 'action', action)}
          {input(t.resource, 'resource', resource)}
        </div>
        <Field label={t.argumentsJson}>
          {(id) => <textarea id={id} value={args} onChange={(e) => setText('args', e.target.value)} />}
        </Field>
        <details open={ip !== '' || at !== '' || draft !== ''}>
          <summary>{t.circumstances}</summary>
          <div className="form">
            <div className="grid2">
              <Field label={t.address}>
                {(id) => (
                  <input id={id} className="mono" value={ip} onChange={(e) => setAddress({ ip: e.target.value })} />
                )}
              </Field>
              <Field label={t.atTime}>
                {(id) => (
                  <input
                    id={id}
                    type="datetime-local"
                    value={at}
                    onChange={(e) => setAddress({ at: e.target.value })}
                  />
                )}
              </Field>
            </div>
            <Field label={t.draftPermissions} hint={t.draftHint}>
              {(id) => <textarea id={id} value={draft} onChange={(e) => setText('draft', e.target.value)} />}
            </Field>
          </div>
        </details>
        {problem && (
          <p className="notice error" role="alert">
            {problem}
          </p>
        )}
        <div className="actions">
          <button type="submit" className="button primary" disabled={ask.isPending}>
            {t.ask}
          </button>
          <CopyText text={() => asCurl('/authorize', 'POST', questionOrPart())}>{t.copyCurl}</CopyText>
        </div>
      </form>
      {ask.error && <ErrorNotice error={ask.error} />}
      {ask.data && (
        <Section title={t.answer}>
          <p className="actions" role="status">
            <Status
              of={ask.data.allowed ? 'allowed' : ask.data.reason === 'RATE_LIMITED' ? 'rate_limited' : 'denied'}
            />
            {ask.data.reason && ((t.reasons as Record<string, string>)[ask.data.reason] ?? ask.data.reason)}
          </p>
          <p className="verdict">
            <Verdict
              agent={agents.find(([id]) => id === ask.variables.agentId)?.[1] ?? ask.variables.agentId ?? ''}
              allowed={ask.data.allowed}
              question={ask.variables}
            />
          </p>
          {ask.data.trace && <Trace trace={ask.data.trace} at={new Date(serverNow()).toISOString()} />}
          <details>
            <summary>{t.raw}</summary>
            <Json value={ask.data} />
          </details>
        </Section>
      )}
      <FixtureTests
        asked={
          ask.data &&
          testOf(ask.variables, agents.find(([id]) => id === ask.variables.agentId)?.[1] ?? agentId, ask.data)
        }
      />
      {ask.data && <WhoElse action={ask.variables.action} resource={ask.variables.resource} />}
    </Screen>
  );
}

/** Exports the question and its result as a test, without the draft permissions. */
const testOf = (
  { action, resource, arguments: args, context, at }: Parameters<typeof legate.authorize>[0],
  agent: string,
  { allowed, reason }: { allowed: boolean; reason?: string | undefined },
): FixtureFile['tests'][number] => ({
  agent,
  action,
  resource,
  ...(args && { arguments: args as Record<string, unknown> }),
  ...(context?.ip && { ip: context.ip }),
  ...(at && { at: Date.parse(String(at)) }),
  expect: (allowed ? 'allowed' : (reason ?? 'denied')) as 'allowed',
});

const Verdict = ({
  agent,
  allowed,
  question,
}: {
  agent: string;
  allowed: boolean;
  question: { action: string; resource: string };
}) => (
  <Untrusted sentence>{t.would[allowed ? 'allowed' : 'denied'](agent, question.action, question.resource)}</Untrusted>
);

/** All agents that have a permission for the same action and resource. */
function WhoElse({ action, resource }: { action: string; resource: string }) {
  const subjects = useKept(['agents', 'subjects', action, resource], () =>
    legate.permissions.subjects({ action, resource, limit: 50 }).page(),
  );
  return (
    <Section title={t.whoElse}>
      <Result of={subjects}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Empty>{t.nobody}</Empty>
          ) : (
            <>
              <Table
                caption={t.whoElse}
                rows={items}
                rowKey={(s) => s.agentId}
                columns={[
                  { label: t.agent, cell: (s) => <AgentLink id={s.agentId} name={s.name} /> },
                  {
                    label: t.source,
                    cell: (s) => (s.via.type === 'own' ? t.own : t.delegatedTo),
                  },
                ]}
              />
              {next && <p className="quiet">{t.andMore}</p>}
            </>
          )
        }
      </Result>
    </Section>
  );
}
