import { Copy } from 'lucide-react';
import type { ReactNode } from 'react';
import { t } from '../texts/index.ts';

const HIDDEN =
  /\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}|\p{Variation_Selector}|\u034f|\u115f|\u1160|\u17b4|\u17b5|\u3164|\uffa0|[\u{e0000}-\u{e0fff}]/gu;

const codeOf = (character: string): string =>
  `U+${(character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}`;

/** Text that others wrote, for places that take no elements: invisible characters are replaced by their code. */
export const visible = (text: string): string => text.replace(HIDDEN, codeOf);

/**
 * Text that others wrote. It is isolated from the direction of the text around it, and characters that would be
 * invisible or change the order of others are shown by their code.
 */
export function Untrusted({ children, mono = false }: { children: string; mono?: boolean }) {
  const parts: ReactNode[] = [];
  let end = 0;
  for (const match of children.matchAll(HIDDEN)) {
    if (match.index > end) parts.push(children.slice(end, match.index));
    parts.push(
      <span className="chip" key={match.index}>
        {codeOf(match[0])}
      </span>,
    );
    end = match.index + match[0].length;
  }
  parts.push(children.slice(end));
  return <bdi className={mono ? 'mono' : undefined}>{parts}</bdi>;
}

export function CopyButton({ text, label }: { text: string; label: string }) {
  return (
    <button type="button" className="icon" aria-label={label} title={label} onClick={() => copy(text)}>
      <Copy size={14} aria-hidden="true" />
    </button>
  );
}

export const copy = (text: string): void => void navigator.clipboard?.writeText(text);

export const Id = ({ children }: { children: string }) => (
  <span>
    <code>{children}</code> <CopyButton text={children} label={t.copyId(children)} />
  </span>
);

const time = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: 'medium', timeStyle: 'medium' });
export const formatTime = (iso: string): string => time.format(new Date(iso));
/** A time in the zone of the reader; the exact one is in its title. */
export const Time = ({ at }: { at: string | null | undefined }) =>
  at ? (
    <time dateTime={at} title={at}>
      {formatTime(at)}
    </time>
  ) : (
    <span className="quiet">–</span>
  );
const number = new Intl.NumberFormat(document.documentElement.lang);
export const formatNumber = (value: number): string => number.format(value);

const STATUS: Readonly<Record<string, readonly [kind: string, sign: string]>> = {
  allowed: ['allowed', '●'],
  denied: ['denied', '✕'],
  rate_limited: ['limited', '◷'],
  pending: ['waiting', '◔'],
  approved: ['good', '✓'],
  used: ['allowed', '●'],
  active: ['allowed', '●'],
  revoked: ['denied', '⊘'],
  expired: ['limited', '⧖'],
  open: ['waiting', '◔'],
  acknowledged: ['allowed', '✓'],
  delivered: ['allowed', '●'],
  dropped: ['denied', '✕'],
  enabled: ['allowed', '●'],
  disabled: ['limited', '⊘'],
  high: ['denied', '▲'],
  medium: ['limited', '▲'],
  low: ['allowed', '△'],
};

/** A state as shape, word and color. */
export function Status({ of }: { of: string }) {
  const [kind, sign] = STATUS[of] ?? ['allowed', '○'];
  const word = (t.status as Record<string, string>)[of] ?? of;
  return (
    <span className={`status ${kind}`}>
      <span aria-hidden="true">{sign}</span>
      {word}
    </span>
  );
}

export const Json = ({ value }: { value: unknown }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable with the keyboard.
  <pre tabIndex={0}>
    <bdi>{escapeHidden(JSON.stringify(value, null, 2))}</bdi>
  </pre>
);

/** The values of a JSON object by their paths, nothing left out. */
export function pathsOf(value: unknown, path = ''): { path: string; value: string }[] {
  if (typeof value !== 'object' || value === null) return [{ path: path || '.', value: JSON.stringify(value) ?? '' }];
  const entries = Array.isArray(value)
    ? value.map((item, i) => [`[${i}]`, item] as const)
    : Object.entries(value).map(([name, item]) => [path === '' ? name : `.${name}`, item] as const);
  if (entries.length === 0) return [{ path: path || '.', value: Array.isArray(value) ? '[]' : '{}' }];
  return entries.flatMap(([name, item]) => pathsOf(item, path + name));
}

/** JSON escapes control characters; the other invisible ones are escaped here in the same way. */
const escapeHidden = (json: string): string =>
  json.replace(HIDDEN, (c) => (c === '\n' ? c : `\\u{${(c.codePointAt(0) as number).toString(16)}}`));
