import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { CONSOLE, rights } from './api.ts';
import { Frame } from './frame.tsx';
import { NotFound } from './parts/screen.tsx';
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

const agent = lazyRouteComponent(() => import('./screens/agent.tsx'), 'AgentScreen');
const delegations = lazyRouteComponent(() => import('./screens/delegations.tsx'), 'Delegations');
const approvals = lazyRouteComponent(() => import('./screens/approvals.tsx'), 'Approvals');
const people = lazyRouteComponent(() => import('./screens/people.tsx'), 'People');
const connections = lazyRouteComponent(() => import('./screens/connections.tsx'), 'Connections');
const entry = lazyRouteComponent(() => import('./screens/entry.tsx'), 'EntryScreen');
const webhook = lazyRouteComponent(() => import('./screens/webhook.tsx'), 'WebhookScreen');
const signals = lazyRouteComponent(() => import('./screens/signals.tsx'), 'Signals');

root.addChildren([
  at('/', Overview),
  at('/approvals', approvals),
  at('/approvals/$id', approvals),
  at(
    '/agents',
    lazyRouteComponent(() => import('./screens/agents.tsx'), 'Agents'),
  ),
  at('/agents/graph', delegations),
  at('/agents/$id', agent),
  at('/agents/$id/$tab', agent),
  at(
    '/audit',
    lazyRouteComponent(() => import('./screens/audit.tsx'), 'Audit'),
  ),
  at('/audit/$id', entry),
  at('/audit/$id/$tab', entry),
  at(
    '/changes',
    lazyRouteComponent(() => import('./screens/changes.tsx'), 'Changes'),
  ),
  at(
    '/playground',
    lazyRouteComponent(() => import('./screens/playground.tsx'), 'Playground'),
  ),
  area('/signals', () => '/signals/anomalies'),
  area('/connections', () => (rights.all ? '/connections/servers' : '/connections/grants')),
  area('/people', () => '/people/users'),
  at(
    '/signals/anomalies/$id',
    lazyRouteComponent(() => import('./screens/anomaly.tsx'), 'AnomalyScreen'),
  ),
  at(
    '/people/users/$id',
    lazyRouteComponent(() => import('./screens/user.tsx'), 'UserScreen'),
  ),
  at(
    '/people/issuers/$id',
    lazyRouteComponent(() => import('./screens/issuers.tsx'), 'IssuerScreen'),
  ),
  at(
    '/connections/servers/$id',
    lazyRouteComponent(() => import('./screens/connection.tsx'), 'ServerScreen'),
  ),
  at(
    '/connections/clients/$id',
    lazyRouteComponent(() => import('./screens/connection.tsx'), 'ClientScreen'),
  ),
  at(
    '/connections/grants/$id',
    lazyRouteComponent(() => import('./screens/connection.tsx'), 'GrantScreen'),
  ),
  at(
    '/connections/gateway/$name',
    lazyRouteComponent(() => import('./screens/gateway.tsx'), 'GatewayServerScreen'),
  ),
  at('/signals/$tab', signals),
  at('/connections/$tab', connections),
  at('/connections/webhooks/$id', webhook),
  at('/people/$tab', people),
  at(
    '/system',
    lazyRouteComponent(() => import('./screens/system.tsx'), 'System'),
  ),
]);

/** Search parameters are plain text, because people read and share addresses. */
export const router = createRouter({
  routeTree: root,
  basepath: CONSOLE,
  scrollRestoration: true,
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
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
