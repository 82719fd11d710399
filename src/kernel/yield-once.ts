/** Lets what else waits for the event loop run first. */
export const yieldOnce = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
