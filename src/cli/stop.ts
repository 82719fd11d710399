import { setTimeout as wait } from 'node:timers/promises';
import { SECOND_MS } from '../kernel/clock.ts';
import type { Log } from '../platform.ts';

/** The contract allows 10 s after requests were drained. */
const DEADLINE_MS = 9.5 * SECOND_MS;
/** A terminal signals the whole process group, and npm forwards its own signal: two within this time count as one. */
const SAME_SIGNAL_MS = 100;

export interface Stopping {
  /** How long requests are answered after `drain` and before `stop`. */
  readonly drainMs: number;
  readonly drain: () => void;
  readonly stop: () => Promise<void>;
  readonly log: Log;
}

/**
 * On SIGTERM or SIGINT, runs `drain`, waits, runs `stop` and exits with 0, or with 1 if `stop` fails or takes too long.
 * A second signal exits immediately.
 */
export function stopOnSignals({ drainMs, drain, stop, log }: Stopping): void {
  let firstAt: number | undefined;
  const run = async (): Promise<void> => {
    if (drainMs > 0) {
      drain();
      await wait(drainMs);
    }
    setTimeout(() => {
      log.error({}, 'stopping took too long');
      process.exit(1);
    }, DEADLINE_MS).unref();
    await stop();
  };
  const onSignal = (signal: 'SIGTERM' | 'SIGINT'): void => {
    if (firstAt !== undefined) {
      if (performance.now() - firstAt > SAME_SIGNAL_MS) process.exit(signal === 'SIGINT' ? 130 : 143);
      return;
    }
    firstAt = performance.now();
    log.info({ signal, ...(drainMs > 0 ? { drainSeconds: drainMs / SECOND_MS } : {}) }, 'stopping');
    run().then(
      () => {
        log.info({ ms: Math.round(performance.now() - (firstAt ?? 0)) }, 'stopped');
        process.exit(0);
      },
      (error: unknown) => {
        log.error({ err: error }, 'stopping failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}

/** Logs an uncaught error and ends the process with exit code 1, because its state is unknown. */
export function exitOnCrash(log: Log): void {
  process.on('uncaughtException', (error, origin) => {
    log.error({ err: error }, origin === 'unhandledRejection' ? 'unhandled rejection' : 'uncaught exception');
    process.exit(1);
  });
}
