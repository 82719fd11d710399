import { Link, useRouterState } from '@tanstack/react-router';
import { LegateError } from 'legate/client';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { asCurl, BRAND, legate, signInAgain } from '../api.ts';
import { t } from '../texts/index.ts';
import { useAddress } from './hooks.tsx';
import { CopyText, Untrusted, visible } from './text.tsx';

let first = true;

/** Moves the focus to the heading of the screen. */
export const focusHeading = (): void => document.querySelector<HTMLElement>('main h1')?.focus();

/** A screen with its one heading, which receives the focus after navigation. */
export function Screen({
  title,
  part,
  children,
  actions,
  curl,
}: {
  title: string;
  /** The name of the open tab, for the title of the document. */
  part?: string | undefined;
  children: ReactNode;
  actions?: ReactNode;
  /** The path of the request whose response the screen shows, for people who want to use it in a script. */
  curl?: string;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = [...(part ? [part] : []), visible(title), BRAND].join(' – ');
  }, [title, part]);
  useEffect(() => {
    if (!first) heading.current?.focus();
    first = false;
  }, []);
  return (
    <div className="screen">
      <div className="head">
        <h1 ref={heading} tabIndex={-1}>
          <Untrusted>{title}</Untrusted>
        </h1>
        {(actions || curl) && (
          <div className="actions">
            {curl && <CopyText text={() => asCurl(curl)}>{t.copyCurl}</CopyText>}
            {actions}
          </div>
        )}
      </div>
      {children}
    </div>
  );
}

export const NotFound = () => (
  <Screen title={t.notFound}>
    <p>
      <Link to="/">{t.nav.overview}</Link>
    </p>
  </Screen>
);

/** A screen whose program could not be loaded, or that failed. */
export function NotLoaded({ error }: { error: unknown }) {
  const [found, setFound] = useState(error);
  // Reloading without a connection would lose the page.
  const again = (): void => void legate.sessions.current().then(() => location.reload(), setFound);
  return (
    <Screen title={t.screenMissing}>
      {found instanceof LegateError ? (
        <ErrorNotice error={found} retry={again} />
      ) : (
        <div className="actions">
          <button type="button" className="button" onClick={again}>
            {t.loadAgain}
          </button>
        </div>
      )}
    </Screen>
  );
}

export function Section({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <section className="section">
      <header>
        <h2>
          <Untrusted>{title}</Untrusted>
        </h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

export function Tabs({ label, tabs }: { label: string; tabs: readonly (readonly [to: string, label: string])[] }) {
  const path = useRouterState({ select: (state) => state.location.pathname });
  const bar = useRef<HTMLElement>(null);
  // Scrolls the current tab into view, because the tabs scroll on a phone.
  useEffect(() => {
    const { current: all } = bar;
    if (!all) return;
    const observer = new ResizeObserver(() => {
      const current = all.querySelector<HTMLElement>('[aria-current=page]');
      if (current) all.scrollLeft = current.offsetLeft - all.offsetLeft;
    });
    observer.observe(all);
    return () => observer.disconnect();
  }, [path]);
  return (
    <nav className="tabs" aria-label={label} ref={bar}>
      {tabs.map(([to, name]) => (
        <Link key={to} to={to} activeOptions={{ exact: true, includeSearch: false }}>
          {name}
        </Link>
      ))}
    </nav>
  );
}

interface Loaded<T> {
  readonly data: T | undefined;
  readonly error: Error | null;
  readonly isPlaceholderData?: boolean;
  readonly refetch: () => unknown;
}

/**
 * Shows the result of a query. While it is loading, shows a skeleton; if it failed, the error, with the old data if
 * there is any.
 */
export function Result<T>({
  of,
  children,
  lines = 4,
}: {
  of: Loaded<T>;
  children: (data: T) => ReactNode;
  lines?: number;
}) {
  const { data, error, refetch } = of;
  return (
    <>
      {error && <ErrorNotice error={error} retry={() => void refetch()} />}
      {data !== undefined ? (
        <div className={of.isPlaceholderData ? 'section dim' : 'section'} aria-busy={of.isPlaceholderData}>
          {children(data)}
        </div>
      ) : (
        !error && (
          <div className="skeleton" role="status" aria-label={t.loading}>
            {Array.from({ length: lines }, (_, i) => (
              <span key={i} />
            ))}
          </div>
        )
      )}
    </>
  );
}

/** Errors whose message names the value or the limit, which the text of the code cannot. */
export const PRECISE =
  /^(VALIDATION_FAILED|POLICY_TOO_LARGE|INSUFFICIENT_PERMISSIONS|DELEGATION_LIMIT_EXCEEDED|OAUTH_\w+)$/;

/** Whether the service refused the page of a list that the address names. */
const isOfCursor = (error: LegateError): boolean => {
  const issues = error.details?.['issues'];
  return Array.isArray(issues) && issues.some((issue: { path?: unknown }) => issue.path === 'cursor');
};

export function FirstPage() {
  const [, setAddress] = useAddress();
  const go = (): void => {
    setAddress({ cursor: undefined });
    focusHeading();
  };
  return (
    <button type="button" className="button" onClick={go}>
      {t.firstPage}
    </button>
  );
}

export function ErrorNotice({ error, retry }: { error: Error; retry?: () => void }) {
  const code = error instanceof LegateError ? error.code : undefined;
  if (error instanceof LegateError && isOfCursor(error))
    return (
      <div className="notice error" role="alert">
        <p>{t.noSuchPage}</p>
        <div className="actions">
          <code>{code}</code>
          <FirstPage />
        </div>
      </div>
    );
  const text = code && t.errors[code];
  // The same request has the same answer again.
  const final = error instanceof LegateError && (error.status === 404 || error.code === 'FORBIDDEN');
  return (
    <div className="notice error" role="alert">
      <p lang={text ? undefined : 'en'}>{text ?? error.message}</p>
      {text && PRECISE.test(code) && (
        <p className="small" lang="en">
          <Untrusted>{error.message}</Untrusted>
        </p>
      )}
      <div className="actions">
        {code && <code>{code}</code>}
        {code === 'REAUTHENTICATION_REQUIRED' && (
          <a className="button primary" href={signInAgain()}>
            {t.signInAgain}
          </a>
        )}
        {retry && final && <Link to="/">{t.nav.overview}</Link>}
        {retry && !final && (
          <button type="button" className="button" onClick={retry}>
            {t.retry}
          </button>
        )}
      </div>
    </div>
  );
}

export const Empty = ({ children }: { children: ReactNode }) => <div className="empty">{children}</div>;
