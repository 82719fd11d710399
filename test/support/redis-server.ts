import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import { startRedis } from './redis-wire.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Empty if this machine has no Redis; its tests are then skipped. */
    redisUrl: string;
  }
}

/** Provides Redis for whole suites: LEGATE_TEST_REDIS_URL, or a new server if the program is on the PATH. */
export default async function setup(project: TestProject): Promise<() => void> {
  const given = process.env['LEGATE_TEST_REDIS_URL'];
  const server = given ? undefined : await startRedis();
  project.provide('redisUrl', given ?? server?.url ?? '');
  return () => server?.stop();
}

/** Returns the URL of Redis in this run, or undefined. */
export const redisUrl = (): string | undefined => inject('redisUrl') || undefined;
