import { mountRoutes } from '../../src/http/app.ts';
import { modules } from '../../src/modules.ts';

export type Mounted = ReturnType<typeof mountRoutes>[number];

/** Returns every mounted route, but only the first of several paths with the same handler. */
export function distinctRoutes(config: Parameters<typeof mountRoutes>[1]): Mounted[] {
  const seen = new Set<string>();
  const handlers = new Map<unknown, number>();
  return mountRoutes(modules, config).filter(({ route }) => {
    if (!handlers.has(route.handle)) handlers.set(route.handle, handlers.size);
    const key = `${route.method} ${handlers.get(route.handle)}`;
    return !seen.has(key) && seen.add(key);
  });
}
