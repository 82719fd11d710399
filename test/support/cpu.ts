/**
 * Returns a function that measures processor time since the call in ms, for tests that limit the work of an operation.
 * Unlike clock time, it does not depend on other load of the machine.
 */
export function cpuTimer(): () => number {
  const start = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000;
  };
}
