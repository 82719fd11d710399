import type { CutLists } from './filter-answer.ts';
import { isObject } from './json-rpc.ts';

/** Which of these tools the caller may call. */
export type Callable = (tools: readonly string[]) => Promise<ReadonlySet<string>>;

/** Methods whose answers are cut. */
export const LIST_METHODS: ReadonlySet<string> = new Set(['tools/list']);

/** Cuts the answer to `tools/list` by its form: in a resumed stream it answers a request that came earlier. */
export const cutLists =
  (callable: Callable): CutLists =>
  async (message) => {
    const result = isObject(message) ? message['result'] : undefined;
    const listed = isObject(result) ? result['tools'] : undefined;
    if (!isObject(result) || !Array.isArray(listed) || listed.length === 0) return false;
    const tools = listed.filter(isObject).filter((tool) => typeof tool['name'] === 'string');
    const allowed = await callable(tools.map((tool) => tool['name'] as string));
    result['tools'] = tools.filter((tool) => allowed.has(tool['name'] as string));
    return true;
  };
