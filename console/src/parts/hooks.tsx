import {
  keepPreviousData,
  type UseMutationOptions,
  type UseMutationResult,
  useMutation,
  useQuery,
} from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { AriaAttributes, ReactNode } from 'react';
import { useCallback, useEffect, useId, useRef, useState } from 'react';
import { legate, rights } from '../api.ts';
import { Go } from './go.tsx';
import { Untrusted } from './text.tsx';

type Search = Readonly<Record<string, string | undefined>>;

/** Returns the search parameters of the address, and a function that changes some of them. */
export function useAddress(): [Search, (patch: Search) => void] {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const set = useCallback(
    (patch: Search): void =>
      void navigate({
        to: '.',
        search: ((old: Search) => ({ ...old, ...patch })) as never,
        replace: true,
        resetScroll: false,
      }),
    [navigate],
  );
  return [search, set];
}

const PAUSE_MS = 150;

/** A field for a text in the address, which changes when the person pauses typing. */
export function SearchField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
}) {
  const [typed, setTyped] = useState(value);
  const sent = useRef(value);
  const change = useRef(onChange);
  change.current = onChange;
  useEffect(() => {
    // Something other than this field has changed the address, such as a link.
    if (value !== sent.current) setTyped(value);
    sent.current = value;
  }, [value]);
  useEffect(() => {
    if (typed === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = typed;
      change.current(typed);
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <Field label={label} wide>
      {(id) => <input id={id} type="search" value={typed} onChange={(e) => setTyped(e.target.value)} />}
    </Field>
  );
}

export const useParam = (name: string): string => (useParams({ strict: false }) as Record<string, string>)[name] ?? '';

/** A query that keeps its previous result, dimmed, while the next one is loaded. */
export const useKept = <T,>(queryKey: readonly unknown[], queryFn: () => Promise<T>, enabled = true) =>
  useQuery({ queryKey, queryFn, enabled, placeholderData: keepPreviousData });

/**
 * A change that runs once, even if the button is pressed twice: the second press may arrive before React has disabled
 * the button.
 */
export function useChange<T, V = void>(
  options: UseMutationOptions<T, Error, V> & { mutationFn: (variables: V) => Promise<T> },
): UseMutationResult<T, Error, V> {
  const running = useRef(false);
  const change = useMutation({
    ...options,
    mutationFn: (variables: V) =>
      options.mutationFn(variables).finally(() => {
        running.current = false;
      }),
  });
  return {
    ...change,
    mutate: (...given) => {
      if (running.current) return;
      running.current = true;
      change.mutate(...given);
    },
  };
}

/** Active agents to choose from, with their names. */
export function useAgentChoices(): readonly (readonly [id: string, name: string])[] {
  const { data } = useQuery({
    queryKey: ['agents', 'choices'],
    queryFn: async () =>
      (await legate.agents.list({ view: 'summary', status: 'active', sort: 'name', limit: 200 }).page()).items,
    staleTime: 60_000,
  });
  return (data ?? []).map(({ id, name }) => [id, name]);
}

/** What `GET /names` takes. Clients with a metadata document are identified by its address, which may be longer. */
const MAX_NAMES = 300;
const isNameable = (id: string): boolean => id.length <= 100 && !id.includes(',');

/** The names of ids, in one request for a whole screen. */
export function useNames(ids: readonly (string | null | undefined)[]): (id: string) => string | undefined {
  const wanted = [...new Set(ids.filter((id): id is string => !!id && isNameable(id)))].sort().slice(0, MAX_NAMES);
  const { data } = useQuery({
    queryKey: ['names', ...wanted],
    queryFn: () => legate.names.list({ ids: wanted }),
    enabled: wanted.length > 0,
    staleTime: 60_000,
    placeholderData: keepPreviousData,
  });
  const names = new Map((data ?? []).map(({ id, name }) => [id, name]));
  return (id) => names.get(id);
}

export const AgentLink = ({ id, name }: { id: string; name: string | null | undefined }) => (
  <Go to={`/agents/${id}`}>{name ? <Untrusted>{name}</Untrusted> : <code>{id}</code>}</Go>
);

/** A person, with a link for readers who may see the accounts of others. */
export const PersonLink = ({ id, name }: { id: string; name: string | null | undefined }) =>
  name && rights.all ? (
    <Go to={`/people/users/${id}`}>
      <Untrusted>{name}</Untrusted>
    </Go>
  ) : (
    <Untrusted>{name ?? id}</Untrusted>
  );

/** A field with its label, its hint and its error. `aria` describes the control by the latter two. */
export function Field({
  label,
  hint,
  problem,
  wide,
  children,
}: {
  label: string;
  hint?: string;
  problem?: ReactNode;
  wide?: boolean;
  children: (id: string, aria: Pick<AriaAttributes, 'aria-invalid' | 'aria-describedby'>) => ReactNode;
}) {
  const id = useId();
  const described = [hint && `${id}hint`, problem && `${id}problem`].filter(Boolean).join(' ');
  return (
    <div className={wide ? 'field wide' : 'field'}>
      <label htmlFor={id}>{label}</label>
      {hint && (
        <p className="hint" id={`${id}hint`}>
          {hint}
        </p>
      )}
      {children(id, {
        ...(problem && { 'aria-invalid': true }),
        ...(described && { 'aria-describedby': described }),
      })}
      {problem && (
        <p className="problem" id={`${id}problem`}>
          {problem}
        </p>
      )}
    </div>
  );
}

export function Select<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: T | '';
  options: readonly (readonly [value: T | '', label: string])[];
  onChange: (value: T | '') => void;
}) {
  return (
    <Field label={label}>
      {(id) => (
        <select id={id} value={value} onChange={(e) => onChange(e.target.value as T)}>
          {options.map(([code, name]) => (
            <option key={code} value={code}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
