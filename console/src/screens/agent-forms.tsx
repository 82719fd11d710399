import type { Agent } from 'legate/client';
import { legate, rights } from '../api.ts';
import { FormButton } from '../parts/form.tsx';
import type { Input } from '../parts/input.tsx';
import { jsonOf } from '../parts/text.tsx';
import { t } from '../texts/index.ts';

const STALE = ['agents', 'names', 'changes'];
type Kind = 'autonomous' | 'delegated' | 'service';
type Name = 'name' | 'type' | 'expiresAt' | 'metadata';

function jsonProblem(text: string): string | undefined {
  try {
    JSON.parse(text.trim() || '{}');
    return undefined;
  } catch {
    return t.jsonInvalid;
  }
}

const INPUTS: Readonly<Record<Name, Input<Name>>> = {
  name: { name: 'name', label: t.name, maxLength: 200 },
  type: {
    name: 'type',
    label: t.type,
    options: (['autonomous', 'delegated', 'service'] as const).map((kind) => [kind, t.types[kind]]),
  },
  expiresAt: { name: 'expiresAt', label: t.expires, hint: t.expiresHint, type: 'datetime-local', optional: true },
  metadata: {
    name: 'metadata',
    label: t.metadata,
    hint: t.metadataHint,
    type: 'lines',
    optional: true,
    wrong: jsonProblem,
  },
};

/** Converts the local time of a field to the format of the API. */
const instantOf = (local: string): string => new Date(local).toISOString();

function localOf(instant: string | null | undefined): string {
  if (!instant) return '';
  const at = new Date(instant);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, -1);
}

export const RegisterAgent = () => (
  <FormButton<Name>
    label={t.registerAgent}
    intro={t.registerHint}
    stale={STALE}
    inputs={[INPUTS.name, INPUTS.type, { ...INPUTS.expiresAt, hint: t.expiresNewHint }]}
    run={({ name, type, expiresAt }) =>
      legate.agents.create({
        ownerId: rights.me.id,
        name,
        type: type as Kind,
        ...(expiresAt && { expiresAt: instantOf(expiresAt) }),
      })
    }
    secret={({ token }: { token: string }) => token}
  />
);

/** Changes everything except permissions, which have their own editor. */
export const EditAgent = ({ agent }: { agent: Agent }) => (
  <FormButton<Name, Agent>
    label={t.edit}
    title={t.editOf(agent.name)}
    stale={STALE}
    inputs={[INPUTS.name, INPUTS.expiresAt, INPUTS.metadata]}
    edited={{
      id: agent.id,
      type: 'agent.updated',
      load: () => legate.agents.get(agent.id),
      values: (a) => ({
        name: a.name,
        type: a.type,
        expiresAt: localOf(a.expiresAt),
        metadata: Object.keys(a.metadata).length > 0 ? jsonOf(a.metadata) : '',
      }),
    }}
    run={({ name, expiresAt, metadata }, of, reason) =>
      legate.agents.update(
        of.id,
        {
          name,
          // Unchanged times keep their fractions of a second.
          ...(expiresAt !== localOf(of.expiresAt) && { expiresAt: expiresAt ? instantOf(expiresAt) : null }),
          metadata: JSON.parse(metadata.trim() || '{}') as Record<string, unknown>,
          reason,
        },
        { ifMatch: of },
      )
    }
  />
);
