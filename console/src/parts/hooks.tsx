import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useId } from 'react';
import { legate } from '../api.ts';
import { Untrusted } from './text.tsx';

type Search = Readonly<Record<string, string | undefined>>;

/** The search parameters of the address, and a function that changes some of them. */
export function useAddress(): [Search, (patch: Search) => void] {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  return [
    search,
    (patch) =>
      void navigate({
        to: '.',
        search: ((old: Search) => ({ ...old, ...patch })) as never,
        replace: true,
        resetScroll: false,
      }),
  ];
}

export const useParam = (name: string): string => (useParams({ strict: false }) as Record<string, string>)[name] ?? '';

/** A query that keeps what it returned before, dimmed, while the next answer is on its way. */
export const useKept = <T,>(queryKey: readonly unknown[], queryFn: () => Promise<T>, enabled = true) =>
  useQuery({ queryKey, queryFn, enabled, placeholderData: keepPreviousData });

/** Names of ids, in one request for a whole screen. */
export function useNames(ids: readonly (string | null | undefined)[]): (id: string) => string | undefined {
  const wanted = [...new Set(ids.filter((id): id is string => !!id))].sort().slice(0, 500);
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
  <Link to={`/agents/${id}`}>{name ? <Untrusted>{name}</Untrusted> : <code>{id}</code>}</Link>
);

export function Field({
  label,
  hint,
  wide,
  children,
}: {
  label: string;
  hint?: string;
  wide?: boolean;
  children: (id: string) => ReactNode;
}) {
  const id = useId();
  return (
    <div className={wide ? 'field wide' : 'field'}>
      <label htmlFor={id}>{label}</label>
      {hint && <p className="hint">{hint}</p>}
      {children(id)}
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
