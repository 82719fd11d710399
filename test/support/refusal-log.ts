import type { Json } from './service.ts';

/** A log for {@link createTestService} whose refusals a test reads. */
export function refusalLog() {
  const logged: Json[] = [];
  const ignored = () => {};
  return {
    log: {
      debug: ignored,
      info: (fields: object, message: string) => void logged.push({ ...fields, message }),
      warn: ignored,
      error: ignored,
    },
    logged,
    /** Returns why the newest refused request was refused. */
    lastReason: () => logged.findLast(({ message }) => message === 'refused')?.reason,
  };
}
