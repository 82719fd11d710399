import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import { startRedis } from './redis-wire.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Empty: there is no Redis here, and what needs one is skipped. */
    redisUrl: string;
  }
}

/** For whole suites: LEGATE_TEST_REDIS_URL, or a server of our own from the program on the PATH. */
export default async function setup(project: TestProject): Promise<() => void> {
  const given = process.env['LEGATE_TEST_REDIS_URL'];
  const server = given ? undefined : await startRedis();
  project.provide('redisUrl', given ?? server?.url ?? '');
  return () => server?.stop();
}

/** The Redis of this run; undefined: there is none. */
export const redisUrl = (): string | undefined => inject('redisUrl') || undefined;
