import { SECOND_MS } from '../kernel/clock.ts';

/** Time limit of a health check. */
const TIMEOUT_MS = 2 * SECOND_MS;

/** Returns the result of a health check, or `late` if it takes too long. */
export async function inTime<T>(answer: Promise<T>): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), TIMEOUT_MS);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
