import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import {
  Activity,
  Bot,
  FlaskConical,
  Gauge,
  History,
  Menu,
  Network,
  Plug,
  Server,
  ShieldCheck,
  Users,
} from 'lucide-react';
import { type ComponentType, Suspense, useEffect, useState } from 'react';
import { BRAND, CONSOLE, legate, REST, rights } from './api.ts';
import { useLive } from './live.ts';
import { useKept } from './parts/hooks.tsx';
import { Untrusted } from './parts/text.tsx';
import { t } from './texts/index.ts';
import { applyTheme, THEMES, type Theme, theme } from './theme.ts';

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
  ['/signals/anomalies', t.nav.signals, Activity, '/signals'],
  [rights.all ? '/connections/servers' : '/connections/grants', t.nav.connections, Plug, '/connections'],
  ...(rights.all
    ? ([
        ['/people/users', t.nav.people, Users, '/people'],
        ['/system', t.nav.system, Server],
      ] as Item[])
    : []),
];

export function Frame() {
  const [open, setOpen] = useState(false);
  const path = useRouterState({ select: (s) => s.location.pathname });
  const live = useLive();
  const attention = useKept(['dashboard', 'attention'], () => legate.dashboard.attention());
  useEffect(() => setOpen(false), [path]);
  const here = path.startsWith(CONSOLE) ? path.slice(CONSOLE.length) || '/' : path;
  const currentOf = (to: string, under?: string): boolean =>
    to === '/' || to === '/agents/graph'
      ? here.replace(/(.)\/$/, '$1') === to
      : here.startsWith(under ?? to) && !(to === '/agents' && here === '/agents/graph');
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
        <nav aria-label={t.navigation}>
          <ul>
            {items().map(([to, label, Icon, under]) => (
              <li key={to}>
                <Link
                  to={to}
                  activeOptions={{ exact: true, includeSearch: false }}
                  aria-current={currentOf(to, under) ? 'page' : undefined}
                >
                  <Icon size={16} aria-hidden="true" />
                  {label}
                  {to === '/approvals' && (attention.data?.approvals.count ?? 0) > 0 && (
                    <span className="count">{attention.data?.approvals.count}</span>
                  )}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <Account live={live} />
      </header>
      <main id="main">
        <Suspense fallback={<div className="skeleton" />}>
          <Outlet />
        </Suspense>
      </main>
    </div>
  );
}

function Account({ live }: { live: ReturnType<typeof useLive> }) {
  const [chosen, setChosen] = useState<Theme>(theme());
  const { me } = rights;
  const path = useRouterState({ select: (s) => s.location.pathname });
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
      <div className="row">
        <a href={`${REST}/account`}>{t.account}</a>
        <a href={`${path}?lang=${other[0]}`} lang={other[0]} hrefLang={other[0]}>
          {other[1]}
        </a>
        <a href={`${REST}/docs`}>{t.apiDocs}</a>
      </div>
    </div>
  );
}
