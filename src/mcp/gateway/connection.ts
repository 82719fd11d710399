/** A connection to a server, in an MCP revision with `initialize` (up to 2025-11-25). */
export interface Connection {
  /** Sends a request and returns its result. Throws if the answer is an error or none arrives. */
  request(method: string, params: object): Promise<Record<string, unknown>>;
  notify(method: string): Promise<void>;
  close(): Promise<void>;
}

/** Returns the result of an answer. Throws its error. */
export function resultOf(answer: Record<string, unknown>): Record<string, unknown> {
  const { error, result } = answer as { error?: { code: number; message: string }; result?: Record<string, unknown> };
  if (error) throw new Error(`it answered with error ${error.code}: ${error.message}`);
  if (typeof result !== 'object' || result === null) throw new Error('its answer has no result');
  return result;
}
