/**
 * Returns why `fetch` failed, which only the cause of its error says. If both addresses of `localhost` refuse, the
 * cause has a code and no message.
 */
export function whyFailed(error: unknown): string {
  const { cause, message } = error as Error;
  return cause instanceof Error ? cause.message || String((cause as NodeJS.ErrnoException).code) : message;
}
