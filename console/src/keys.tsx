import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent as Press, useEffect, useId, useState } from 'react';
import { legate } from './api.ts';
import { Dialog } from './parts/dialog.tsx';
import { useKept } from './parts/hooks.tsx';
import { Untrusted } from './parts/text.tsx';
import { t } from './texts/index.ts';

const SETTING = 'legate.keys';
const keysOn = (): boolean => localStorage.getItem(SETTING) !== 'off';

/** A screen: its address, its name and the letter that follows `g`. */
export type Place = readonly [to: string, name: string, letter: string];

/** The screen of an id, by its prefix. */
const SCREENS: Readonly<Record<string, string>> = {
  agt: '/agents/',
  aud: '/audit/',
  apr: '/approvals/',
  ano: '/signals/anomalies/',
  whk: '/connections/webhooks/',
  mcp: '/connections/servers/',
  cli: '/connections/clients/',
  grt: '/connections/grants/',
  usr: '/people/users/',
};

export function screenOfId(text: string): string | undefined {
  const prefix = /^([a-z]{3})_[0-9a-z]{26}$/.exec(text.trim())?.[1];
  const screen = prefix && SCREENS[prefix];
  return screen ? screen + text.trim() : undefined;
}

const typing = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]');

const visibleNow = (element: HTMLElement): boolean => element.getClientRects().length > 0;

/** Moves the focus to the first link of the row after (1) or before (-1) the focused one. */
function moveRow(step: 1 | -1): void {
  const rows = [...document.querySelectorAll('main tbody tr')]
    .flatMap((row) => row.querySelector<HTMLElement>('a') ?? [])
    .filter(visibleNow);
  const here = rows.findIndex((link) => link.closest('tr')?.contains(document.activeElement));
  rows[here === -1 ? (step === 1 ? 0 : rows.length - 1) : here + step]?.focus();
}

/** The keys of the console, the search over screens, agents and ids, and the list of keys. */
export function Keys({ places }: { places: readonly Place[] }) {
  const navigate = useNavigate();
  const [shown, setShown] = useState<'search' | 'sheet'>();
  useEffect(() => {
    let afterG = 0;
    const simple = (key: string): (() => void) | undefined =>
      ({
        '/': () => document.querySelector<HTMLElement>('main input[type=search], main input')?.focus(),
        '?': () => setShown('sheet'),
        j: () => moveRow(1),
        k: () => moveRow(-1),
        '[': () => document.querySelector<HTMLElement>('main [data-key="["]')?.click(),
        ']': () => document.querySelector<HTMLElement>('main [data-key="]"]')?.click(),
        Escape: () => (document.activeElement as HTMLElement | null)?.blur(),
      })[key];
    const onKey = (event: KeyboardEvent): void => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        setShown('search');
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey || document.querySelector('dialog[open]')) return;
      if (typing(event.target) && event.key !== 'Escape') return;
      if (!keysOn() && event.key !== '?' && event.key !== 'Escape') return;
      const place = Date.now() - afterG < 1500 && places.find(([, , letter]) => letter === event.key);
      afterG = event.key === 'g' ? Date.now() : 0;
      const act = place ? () => void navigate({ to: place[0] }) : simple(event.key);
      if (!act) return;
      if (event.key !== 'Escape') event.preventDefault();
      act();
    };
    window.addEventListener('keydown', onKey);
    const open = (): void => setShown('search');
    window.addEventListener('legate-search', open);
    return () => {
      window.removeEventListener('keydown', onKey);
      window.removeEventListener('legate-search', open);
    };
  }, [navigate, places]);
  if (shown === 'search') return <Search places={places} close={() => setShown(undefined)} />;
  if (shown === 'sheet') return <Sheet places={places} close={() => setShown(undefined)} />;
  return null;
}

/** A button that opens the search. */
export const openSearch = (): void => void window.dispatchEvent(new Event('legate-search'));

function Search({ places, close }: { places: readonly Place[]; close: () => void }) {
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const navigate = useNavigate();
  const id = useId();
  const text = typed.trim();
  const agents = useKept(
    ['agents', 'search', text],
    async () => (await legate.agents.list({ view: 'summary', q: text, sort: 'name', limit: 8 }).page()).items,
    text.length > 1,
  );
  const byId = screenOfId(text);
  const found: (readonly [to: string, name: string, kind: string])[] = [
    ...(byId ? [[byId, text, t.id] as const] : []),
    ...places
      .filter(([, name]) => name.toLowerCase().includes(text.toLowerCase()))
      .map(([to, name]) => [to, name, ''] as const),
    ...(text.length > 1 ? (agents.data ?? []).map((a) => [`/agents/${a.id}`, a.name, t.agent] as const) : []),
  ];
  const chosen = Math.min(at, found.length - 1);
  const go = (to: string | undefined): void => {
    if (to === undefined) return;
    close();
    void navigate({ to });
  };
  const onKeyDown = (event: Press): void => {
    if (event.key === 'Enter') go(found[chosen]?.[0]);
    else if (event.key === 'ArrowDown') setAt(Math.min(chosen + 1, found.length - 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(chosen - 1, 0));
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={t.search} close={close}>
      <div className="field">
        <label htmlFor={id}>{t.searchHint}</label>
        <input
          id={id}
          role="combobox"
          aria-expanded="true"
          aria-controls={`${id}list`}
          aria-autocomplete="list"
          aria-activedescendant={found.length > 0 ? `${id}${chosen}` : undefined}
          autoComplete="off"
          value={typed}
          onChange={(e) => {
            setTyped(e.target.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <div role="listbox" id={`${id}list`} aria-label={t.search} className="found">
        {found.map(([to, name, kind], i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above handles the keys of this list.
          // biome-ignore lint/a11y/useFocusableInteractive: focus stays in the field, which names the active option.
          <div
            key={to}
            id={`${id}${i}`}
            role="option"
            aria-selected={i === chosen}
            onClick={() => go(to)}
            onPointerMove={() => setAt(i)}
          >
            <Untrusted>{name}</Untrusted> <span className="quiet">{kind}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && (
        <p className="quiet" role="status">
          {t.searchNothing}
        </p>
      )}
      <div className="actions">
        <button type="button" className="button" onClick={close}>
          {t.keysClose}
        </button>
      </div>
    </Dialog>
  );
}

function Sheet({ places, close }: { places: readonly Place[]; close: () => void }) {
  const [on, setOn] = useState(keysOn());
  const k = t.keyRows;
  const rows: readonly (readonly [keys: string, meaning: string])[] = [
    ['⌘ K, Ctrl K', k.palette],
    ['/', k.filter],
    ['j', k.next],
    ['k', k.previous],
    ['Enter', k.open],
    ['Esc', k.leave],
    ['[', k.earlier],
    [']', k.later],
    ['?', k.sheet],
    ...places.map(([, name, letter]) => [`g ${letter}`, k.go(name)] as const),
  ];
  return (
    <Dialog title={t.keysTitle} close={close}>
      <dl className="facts">
        {rows.map(([keys, meaning]) => (
          <div key={keys} className="contents">
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <label className="check">
        <input
          type="checkbox"
          checked={on}
          onChange={(e) => {
            localStorage.setItem(SETTING, e.target.checked ? 'on' : 'off');
            setOn(e.target.checked);
          }}
        />
        {t.keysOn}
      </label>
      <div className="actions">
        <button type="button" className="button primary" onClick={close}>
          {t.keysClose}
        </button>
      </div>
    </Dialog>
  );
}
