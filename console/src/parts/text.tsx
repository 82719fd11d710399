import { Check, Copy } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { t } from '../texts/index.ts';

const HIDDEN =
  /\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}|\p{Variation_Selector}|\u034f|\u115f|\u1160|\u17b4|\u17b5|\u3164|\uffa0|[\u{e0000}-\u{e0fff}]/gu;

const codeOf = (character: string): string =>
  `U+${(character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}`;

/** Text by others, for places that accept no elements: invisible characters are replaced by their code. */
export const visible = (text: string): string => text.replace(HIDDEN, codeOf);

/**
 * Text by others. It is isolated from the direction of the text around it, and characters that would be invisible or
 * change the order of others are shown by their code. A sentence of the console that contains such a text keeps the
 * direction of the console, even if the name at its beginning is written from right to left.
 */
export function Untrusted({
  children,
  mono = false,
  sentence = false,
}: {
  children: string;
  mono?: boolean;
  sentence?: boolean;
}) {
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
  return (
    <bdi className={mono ? 'mono' : undefined} dir={sentence ? 'ltr' : undefined}>
      {parts}
    </bdi>
  );
}

/** Returns whether something has just been copied, or could not be, and a function that copies. */
function useCopy(): ['copied' | 'notCopied' | undefined, (text: string) => void] {
  const [outcome, setOutcome] = useState<'copied' | 'notCopied'>();
  useEffect(() => {
    if (!outcome) return;
    const timer = setTimeout(() => setOutcome(undefined), 2000);
    return () => clearTimeout(timer);
  }, [outcome]);
  return [outcome, (text) => void copy(text).then((done) => setOutcome(done ? 'copied' : 'notCopied'))];
}

export function CopyButton({ text, label }: { text: string; label: string }) {
  const [outcome, run] = useCopy();
  const Icon = outcome === 'copied' ? Check : Copy;
  return (
    <>
      <button type="button" className="icon" aria-label={label} title={label} onClick={() => run(text)}>
        <Icon size={14} aria-hidden="true" />
      </button>
      {outcome && (
        <span className={outcome === 'copied' ? 'sr' : 'quiet small'} role="status">
          {t[outcome]}
        </span>
      )}
    </>
  );
}

/** A button with a text that copies something, which is created when the button is pressed. */
export function CopyText({ text, children }: { text: () => string; children: string }) {
  const [outcome, run] = useCopy();
  return (
    <button type="button" className="button plain" onClick={() => run(text())}>
      {outcome ? <span role="status">{t[outcome]}</span> : children}
    </button>
  );
}

/** Returns whether the text is in the clipboard. Without https, browsers only have the event of the command. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    let written = false;
    const write = (event: ClipboardEvent): void => {
      event.clipboardData?.setData('text/plain', text);
      event.preventDefault();
      written = true;
    };
    document.addEventListener('copy', write);
    document.execCommand('copy');
    document.removeEventListener('copy', write);
    return written;
  }
}

export const Id = ({ children }: { children: string }) => (
  <span>
    <code>
      <Untrusted>{children}</Untrusted>
    </code>{' '}
    <CopyButton text={children} label={t.copyId(visible(children))} />
  </span>
);

const time = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: 'medium', timeStyle: 'medium' });
const day = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: 'medium', timeZone: 'UTC' });
/** A text that is not a time, which the address of a screen may contain, stays as it is. */
export const formatTime = (iso: string): string => {
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? visible(iso) : time.format(date);
};
/** A day of UTC. */
export const formatDay = (iso: string): string => day.format(new Date(iso));
/** A time in the zone of the reader, with the exact one in its title. */
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
const amount = new Intl.NumberFormat(document.documentElement.lang, { maximumFractionDigits: 12 });
/** A number that is not rounded to thousandths, because a call may cost less, and a decision may depend on the rest. */
export const formatAmount = (value: number): string => amount.format(value);
/** A measured value, which may be a number or a text such as an hour. */
export const formatValue = (value: unknown): string =>
  typeof value === 'number' ? formatNumber(value) : String(value);

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
  passed: ['good', '✓'],
  failed: ['denied', '✕'],
  open: ['waiting', '◔'],
  acknowledged: ['allowed', '✓'],
  delivered: ['allowed', '●'],
  dropped: ['denied', '✕'],
  enabled: ['allowed', '●'],
  disabled: ['limited', '⊘'],
  suspended: ['limited', '⊘'],
  new: ['waiting', '◔'],
  changed: ['limited', '◷'],
  blocked: ['denied', '⊘'],
  running: ['allowed', '●'],
  idle: ['allowed', '○'],
  failing: ['denied', '✕'],
  ok: ['allowed', '●'],
  tool_error: ['limited', '▲'],
  protocol_error: ['denied', '✕'],
  timeout: ['denied', '⧖'],
  cancelled: ['limited', '⊘'],
  unavailable: ['denied', '✕'],
  unknown: ['denied', '▲'],
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
    <bdi>{jsonOf(value)}</bdi>
  </pre>
);

/** JSON for reading and editing, in which invisible characters are escaped. The indentation is two spaces. */
export const jsonOf = (value: unknown): string =>
  (JSON.stringify(value, null, 2) ?? '').replace(HIDDEN, (character) =>
    character === '\n'
      ? character
      : [...Array(character.length).keys()]
          .map((i) => `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`)
          .join(''),
  );
