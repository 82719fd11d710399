/**
 * Milliseconds of processor time since the call, for tests that bound how much work something takes. Unlike the time of a
 * clock they do not depend on what else the machine is doing.
 */
export function cpuTimer(): () => number {
  const start = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000;
  };
}
