import { modules } from './modules.ts';
import { system } from './operations/index.ts';
import type { KeyStore } from './operations/keys/index.ts';
import type { Platform } from './platform.ts';
import { isUnavailable } from './storage/index.ts';

const UPKEEP_MS = 5000;

/** A module that fails does not keep the later ones from their upkeep, unless the database cannot be reached at all. */
async function keepUp(module: (typeof modules)[number], platform: Platform): Promise<void> {
  try {
    await module.upkeep?.(platform);
  } catch (error) {
    if (isUnavailable(error)) throw error;
    platform.log.warn({ err: error, module: module.name }, 'the upkeep of a module failed and is tried again');
  }
}

/**
 * Runs the upkeep of all modules, one run at a time. Returns a function that stops it, after the current run. A command
 * may have other settings than the service, such as a shorter retention, so it only keeps its entry as an instance. So
 * does an instance with a wrong clock, which decides nothing and would delete what has not expired.
 */
export function startUpkeep(platform: Platform, keys: KeyStore): () => Promise<void> {
  const due = platform.instance.serves ? modules : [];
  let running = Promise.resolve();
  let idle = true;
  const timer = setInterval(() => {
    if (!idle) return;
    idle = false;
    running = (async () => {
      await keys
        .reload()
        .catch((error: unknown) => platform.log.warn({ err: error }, 'keys that were added could not be read'));
      // Compares the clocks.
      await system.upkeep?.(platform);
      if (!platform.ledger.time.isTrusted) return;
      for (const module of due) if (module !== system) await keepUp(module, platform);
    })()
      .catch((error: unknown) => platform.log.warn({ err: error }, 'upkeep failed and is tried again'))
      .finally(() => {
        idle = true;
      });
  }, UPKEEP_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
}
