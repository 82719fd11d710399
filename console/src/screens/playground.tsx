import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { asCurl, legate } from '../api.ts';
import { Field, useAddress, useKept } from '../parts/hooks.tsx';
import { ErrorNotice, Screen, Section } from '../parts/screen.tsx';
import { CopyText, Json, Status, visible } from '../parts/text.tsx';
import { t } from '../texts/index.ts';
import { Trace } from './entry.tsx';

/** Asks a question as a dry run: nothing is recorded or counted. */
export function Playground() {
  const [{ agentId = '', action = '', resource = '', args = '' }, setAddress] = useAddress();
  const [problem, setProblem] = useState<string>();
  const agents = useKept(
    ['agents', 'choices'],
    async () =>
      (await legate.agents.list({ view: 'summary', status: 'active', sort: 'name', limit: 200 }).page()).items,
  );
  const question = (): Parameters<typeof legate.authorize>[0] => ({
    agentId,
    action,
    resource,
    ...(args.trim() && { arguments: JSON.parse(args) as Record<string, unknown> }),
    dryRun: true,
    explain: true,
  });
  /** The question without its arguments while those are not valid. */
  const questionOrPart = (): object => {
    try {
      return question();
    } catch {
      return { agentId, action, resource, dryRun: true, explain: true };
    }
  };
  const ask = useMutation({ mutationFn: () => legate.authorize(question()) });
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
            question();
            setProblem(undefined);
            ask.mutate();
          } catch {
            setProblem(t.jsonInvalid);
          }
        }}
      >
        <datalist id="agents">
          {(agents.data ?? []).map((a) => (
            <option key={a.id} value={a.id}>
              {visible(a.name)}
            </option>
          ))}
        </datalist>
        <div className="grid2">
          {input(t.agent, 'agentId', agentId, 'agents')}
          {input(t.action, 'action', action)}
          {input(t.resource, 'resource', resource)}
        </div>
        <Field label={t.argumentsJson}>
          {(id) => <textarea id={id} value={args} onChange={(e) => setAddress({ args: e.target.value })} />}
        </Field>
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
          {ask.data.trace && <Trace trace={ask.data.trace} />}
          <details>
            <summary>{t.raw}</summary>
            <Json value={ask.data} />
          </details>
        </Section>
      )}
    </Screen>
  );
}
