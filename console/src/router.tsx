import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { CONSOLE, legate, rights } from './api.ts';
import { Frame } from './frame.tsx';
import { NotFound, NotLoaded } from './parts/screen.tsx';
import { Overview } from './screens/overview.tsx';

const root = createRootRoute({ component: Frame, notFoundComponent: NotFound });
const at = (path: string, component: Parameters<typeof createRoute>[0]['component']) =>
  createRoute({ getParentRoute: () => root, path, component: component as never });

/** The address of an area without a tab leads to its first tab. */
const area = (path: string, first: () => string) =>
  createRoute({
    getParentRoute: () => root,
    path,
    beforeLoad: () => {
      throw redirect({ to: first(), replace: true } as never);
    },
  });

/**
 * The component of a screen, whose program is loaded when it is first shown. If that fails although the service can be
 * reached, it has another version by now, and the router reloads the page once. Otherwise the page stays.
 */
const screen = <N extends string>(load: () => Promise<Readonly<Record<N, () => ReactNode>>>, name: N) =>
  lazyRouteComponent(
    () =>
      load().catch(async (error: unknown) => {
        await legate.sessions.current();
        throw error;
      }),
    name,
  );

const agent = screen(() => import('./screens/agent.tsx'), 'AgentScreen');
const delegations = screen(() => import('./screens/delegations.tsx'), 'Delegations');
const approvals = screen(() => import('./screens/approvals.tsx'), 'Approvals');
const people = screen(() => import('./screens/people.tsx'), 'People');
const connections = screen(() => import('./screens/connections.tsx'), 'Connections');
const entry = screen(() => import('./screens/entry.tsx'), 'EntryScreen');
const webhook = screen(() => import('./screens/webhook.tsx'), 'WebhookScreen');
const signals = screen(() => import('./screens/signals.tsx'), 'Signals');

root.addChildren([
  at('/', Overview),
  at('/approvals', approvals),
  at('/approvals/$id', approvals),
  at(
    '/agents',
    screen(() => import('./screens/agents.tsx'), 'Agents'),
  ),
  at('/agents/graph', delegations),
  at('/agents/$id', agent),
  at('/agents/$id/$tab', agent),
  at(
    '/audit',
    screen(() => import('./screens/audit.tsx'), 'Audit'),
  ),
  at('/audit/$id', entry),
  at('/audit/$id/$tab', entry),
  at(
    '/changes',
    screen(() => import('./screens/changes.tsx'), 'Changes'),
  ),
  at(
    '/playground',
    screen(() => import('./screens/playground.tsx'), 'Playground'),
  ),
  area('/signals', () => '/signals/anomalies'),
  area('/connections', () => (rights.all ? '/connections/servers' : '/connections/grants')),
  area('/people', () => '/people/users'),
  at(
    '/signals/anomalies/$id',
    screen(() => import('./screens/anomaly.tsx'), 'AnomalyScreen'),
  ),
  at(
    '/people/users/$id',
    screen(() => import('./screens/user.tsx'), 'UserScreen'),
  ),
  at(
    '/people/issuers/$id',
    screen(() => import('./screens/issuers.tsx'), 'IssuerScreen'),
  ),
  at(
    '/connections/servers/$id',
    screen(() => import('./screens/connection.tsx'), 'ServerScreen'),
  ),
  at(
    '/connections/clients/$id',
    screen(() => import('./screens/connection.tsx'), 'ClientScreen'),
  ),
  at(
    '/connections/grants/$id',
    screen(() => import('./screens/connection.tsx'), 'GrantScreen'),
  ),
  at(
    '/connections/gateway/$name',
    screen(() => import('./screens/gateway.tsx'), 'GatewayServerScreen'),
  ),
  at('/signals/$tab', signals),
  at('/connections/$tab', connections),
  at('/connections/webhooks/$id', webhook),
  at('/people/$tab', people),
  at(
    '/system',
    screen(() => import('./screens/system.tsx'), 'System'),
  ),
]);

/**
 * Search parameters are plain text, because people read and share addresses. The language is for the service, which
 * remembers it: an address does not change the language of the person who gets it.
 */
export const router = createRouter({
  routeTree: root,
  basepath: CONSOLE,
  scrollRestoration: true,
  // The screen of another object starts afresh: with its own data, and without an open dialog.
  defaultRemountDeps: ({ params }: { params: { id?: string; name?: string } }) => [params.id, params.name],
  defaultErrorComponent: NotLoaded,
  parseSearch: (search) => {
    const { lang: _, ...rest } = Object.fromEntries(new URLSearchParams(search));
    return rest;
  },
  stringifySearch: (search) => {
    const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '');
    const text = new URLSearchParams(given as [string, string][]).toString();
    return text === '' ? '' : `?${text}`;
  },
});

/** Starts to load the program of the screen at this address. */
export function loadScreen(): void {
  for (const { routeId } of router.matchRoutes(router.latestLocation)) {
    const { component } = router.routesById[routeId as '__root__'].options;
    // An error appears when the screen is shown.
    component?.preload?.()?.catch(() => {});
  }
}
