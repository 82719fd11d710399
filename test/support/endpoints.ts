import { mountRoutes } from '../../src/http/app.ts';
import { modules } from '../../src/modules.ts';

export type Mounted = ReturnType<typeof mountRoutes>[number];

/** Every mounted route; of those that one handler serves under several paths the first alone. */
export function distinctRoutes(config: Parameters<typeof mountRoutes>[1]): Mounted[] {
  const seen = new Set<string>();
  const handlers = new Map<unknown, number>();
  return mountRoutes(modules, config).filter(({ route }) => {
    if (!handlers.has(route.handle)) handlers.set(route.handle, handlers.size);
    const key = `${route.method} ${handlers.get(route.handle)}`;
    return !seen.has(key) && seen.add(key);
  });
}
