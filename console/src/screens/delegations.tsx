import { legate, rights } from '../api.ts';
import { DelegationTable } from '../parts/delegations.tsx';
import { FormButton, wordsOf } from '../parts/form.tsx';
import { useAddress, useAgentChoices, useKept } from '../parts/hooks.tsx';
import { Empty, Result, Screen, Section } from '../parts/screen.tsx';
import { t } from '../texts/index.ts';
import { Picture } from './graph.tsx';
import { Narrowing } from './narrowing.tsx';

const PHONE_PX = 480;

export function Delegations() {
  const [{ ended, link }, setAddress] = useAddress();
  const graph = useKept(['delegations', 'graph', ended], () => legate.delegations.graph({ ended: ended === 'true' }));
  return (
    <Screen
      title={t.nav.delegations}
      curl={`/delegations/graph${ended === 'true' ? '?ended=true' : ''}`}
      actions={rights.write && <Delegate />}
    >
      <label className="check">
        <input
          type="checkbox"
          checked={ended === 'true'}
          onChange={(e) => setAddress({ ended: e.target.checked ? 'true' : undefined })}
        />
        {t.withEnded}
      </label>
      <Result of={graph} lines={6}>
        {(data) =>
          data.delegations.length === 0 ? (
            <Empty>{t.noDelegations}</Empty>
          ) : (
            <>
              {!data.complete && <p className="notice warning">{t.graphIncomplete}</p>}
              {/** A graph of several columns does not fit on a phone, so the table comes first there. */}
              <details open={innerWidth >= PHONE_PX}>
                <summary>{t.picture}</summary>
                <Picture graph={data} link={link} choose={(id) => setAddress({ link: id })} />
              </details>
              {link && data.delegations.some((d) => d.id === link) && <Narrowing id={link} />}
              <Section title={t.asTable}>
                <DelegationTable graph={data} look={(id) => setAddress({ link: id })} />
              </Section>
            </>
          )
        }
      </Result>
    </Screen>
  );
}

function Delegate() {
  const known = useAgentChoices();
  return (
    <FormButton
      label={t.delegate}
      stale={['delegations', 'agents', 'changes']}
      inputs={[
        { name: 'from', label: t.from, hint: t.agentIdHint, known, path: 'fromAgent' },
        { name: 'to', label: t.to, hint: t.agentIdHint, known, path: 'toAgent' },
        { name: 'resource', label: t.resource, hint: t.resourceHint, path: 'permissions[0].resource' },
        { name: 'actions', label: t.actions, hint: t.wordsHint, path: 'permissions[0].actions' },
      ]}
      run={({ from, to, resource, actions }) =>
        legate.delegations.create({
          fromAgent: from.trim(),
          toAgent: to.trim(),
          permissions: [{ resource: resource.trim(), actions: wordsOf(actions) }],
        })
      }
    />
  );
}
