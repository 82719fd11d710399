import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import {
  Activity,
  BellRing,
  Bot,
  FlaskConical,
  Gauge,
  History,
  Menu,
  Network,
  Plug,
  Search,
  Server,
  ShieldCheck,
  Users,
} from 'lucide-react';
import { type ComponentType, Suspense, useEffect, useMemo, useState } from 'react';
import { BANNER, BRAND, CONSOLE, checkMe, legate, REST, rights } from './api.ts';
import { Keys, openSearch, type Place } from './keys.tsx';
import { useLive } from './live.ts';
import { useKept } from './parts/hooks.tsx';
import { Untrusted } from './parts/text.tsx';
import { t } from './texts/index.ts';
import { applyDensity, applyTheme, DENSITIES, type Density, density, THEMES, type Theme, theme } from './theme.ts';

type Item = readonly [
  to: string,
  label: string,
  icon: ComponentType<{ size: number; 'aria-hidden': 'true' }>,
  under?: string,
];

const items = (): readonly Item[] => [
  ['/', t.nav.overview, Gauge],
  ['/approvals', t.nav.approvals, ShieldCheck],
  ['/agents', t.nav.agents, Bot],
  ['/agents/graph', t.nav.delegations, Network],
  ['/audit', t.nav.audit, Activity],
  ['/changes', t.nav.changes, History],
  ['/playground', t.nav.playground, FlaskConical],
  ['/signals/anomalies', t.nav.signals, BellRing, '/signals'],
  [rights.all ? '/connections/servers' : '/connections/grants', t.nav.connections, Plug, '/connections'],
  ...(rights.all
    ? ([
        ['/people/users', t.nav.people, Users, '/people'],
        ['/system', t.nav.system, Server],
      ] as Item[])
    : []),
];

/** The letter that opens each screen after the key `g`. */
const LETTERS: Readonly<Record<string, string>> = {
  '/': 'o',
  '/approvals': 'p',
  '/agents': 'a',
  '/agents/graph': 'd',
  '/audit': 'l',
  '/changes': 'c',
  '/playground': 'y',
  '/signals/anomalies': 's',
  '/connections/servers': 'n',
  '/connections/grants': 'n',
  '/people/users': 'e',
  '/system': 'm',
};
/** The screens in the bar at the bottom of a phone. */
const MAIN = new Set(['/', '/approvals', '/agents', '/audit', '/signals/anomalies']);

export function Frame() {
  const [open, setOpen] = useState(false);
  const path = useRouterState({ select: (s) => s.location.pathname });
  const live = useLive();
  useQuery({ queryKey: ['people', 'me'], queryFn: checkMe, initialData: rights.me, refetchOnWindowFocus: 'always' });
  const attention = useKept(['dashboard', 'attention'], () => legate.dashboard.attention());
  useEffect(() => setOpen(false), [path]);
  const here = path.startsWith(CONSOLE) ? path.slice(CONSOLE.length) || '/' : path;
  const currentOf = (to: string, under?: string): boolean =>
    to === '/' || to === '/agents/graph'
      ? here.replace(/(.)\/$/, '$1') === to
      : here.startsWith(under ?? to) && !(to === '/agents' && here === '/agents/graph');
  const all = items();
  const places = useMemo(() => items().map(([to, name]): Place => [to, name, LETTERS[to] as string]), []);
  const waiting = attention.data?.approvals.count ?? 0;
  return (
    <div className="frame">
      <a className="skip" href="#main">
        {t.skip}
      </a>
      <header className={open ? 'side open' : 'side'}>
        <div className="top">
          <Link className="brand" to="/">
            <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
              <circle cx="12" cy="12" r="11" fill="var(--accent)" />
              <path d="M9 6.5v9.5h6.5" fill="none" stroke="var(--on-accent)" strokeWidth="2.5" strokeLinecap="round" />
            </svg>
            {BRAND}
          </Link>
          <button type="button" className="button menu" aria-expanded={open} onClick={() => setOpen(!open)}>
            <Menu size={16} aria-hidden="true" /> {t.menu}
          </button>
        </div>
        <button type="button" className="button search" onClick={openSearch}>
          <Search size={14} aria-hidden="true" /> {t.search} <kbd>Ctrl K</kbd>
        </button>
        <nav aria-label={t.navigation}>
          <ul>
            {all.map(([to, label, Icon, under]) => (
              <li key={to}>
                <Link
                  to={to}
                  activeOptions={{ exact: true, includeSearch: false }}
                  aria-current={currentOf(to, under) ? 'page' : undefined}
                >
                  <Icon size={16} aria-hidden="true" />
                  {label}
                  {to === '/approvals' && waiting > 0 && <span className="count">{waiting}</span>}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <Account live={live} />
      </header>
      <main id="main">
        {BANNER && (
          <p className="banner" role="note">
            {BANNER}
          </p>
        )}
        <Suspense fallback={<div className="skeleton" />}>
          <Outlet />
        </Suspense>
      </main>
      <nav className="bottom" aria-label={t.mainScreens}>
        {all
          .filter(([to]) => MAIN.has(to))
          .map(([to, label, Icon, under]) => (
            <Link
              key={to}
              to={to}
              activeOptions={{ exact: true, includeSearch: false }}
              aria-current={currentOf(to, under) ? 'page' : undefined}
            >
              <Icon size={18} aria-hidden="true" />
              <span>{label}</span>
              {to === '/approvals' && waiting > 0 && <span className="count">{waiting}</span>}
            </Link>
          ))}
      </nav>
      <Keys places={places} />
    </div>
  );
}

function Account({ live }: { live: ReturnType<typeof useLive> }) {
  const [chosen, setChosen] = useState<Theme>(theme());
  const [spacing, setSpacing] = useState<Density>(density());
  const { me } = rights;
  // The address in the browser; `pathname` is below the path of the console.
  const address = useRouterState({ select: (s) => s.location.publicHref });
  const other = document.documentElement.lang === 'de' ? (['en', 'English'] as const) : (['de', 'Deutsch'] as const);
  return (
    <div className="account">
      <span className={`pill ${live}`} role="status">
        {t.live[live]}
      </span>
      <div>
        <Untrusted>{me.name ?? me.email ?? me.id}</Untrusted>
        <div className="quiet">{t.roles[me.role as 'user'] ?? me.role}</div>
      </div>
      <select
        aria-label={t.theme}
        value={chosen}
        onChange={(e) => {
          setChosen(e.target.value as Theme);
          applyTheme(e.target.value as Theme);
        }}
      >
        {THEMES.map((name) => (
          <option key={name} value={name}>
            {t.themes[name]}
          </option>
        ))}
      </select>
      <select
        aria-label={t.density}
        value={spacing}
        onChange={(e) => {
          setSpacing(e.target.value as Density);
          applyDensity(e.target.value as Density);
        }}
      >
        {DENSITIES.map((name) => (
          <option key={name} value={name}>
            {t.densities[name]}
          </option>
        ))}
      </select>
      <div className="row">
        <a href={`${REST}/account`}>{t.account}</a>
        <a href={inLanguage(address, other[0])} lang={other[0]} hrefLang={other[0]}>
          {other[1]}
        </a>
        <a href={`${REST}/docs`}>{t.apiDocs}</a>
      </div>
    </div>
  );
}

/** Returns an address of the console with another language, and with everything else that it contains. */
function inLanguage(address: string, language: string): string {
  const url = new URL(address, location.origin);
  url.searchParams.set('lang', language);
  return url.pathname + url.search + url.hash;
}
