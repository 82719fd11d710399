import { onPrompt, onResource, onTool, type Question } from './asks.ts';
import type { CutLists } from './filter-answer.ts';
import { isObject, type Message } from './json-rpc.ts';
import { UNREADABLE_LIST } from './refusals.ts';

/** Methods whose answers are filtered. */
export const LIST_METHODS: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'tasks/list',
]);

type Named = (item: Message) => Question | undefined;
const by =
  (member: string, question: (value: string) => Question): Named =>
  (item) =>
    typeof item[member] === 'string' ? question(item[member]) : undefined;

type Listed = readonly [member: string, named: Named];
const LISTS: readonly Listed[] = [
  ['tools', by('name', onTool)],
  ['prompts', by('name', onPrompt)],
  ['resources', by('uri', onResource)],
  // The resources of a template are known only when one is read.
  ['resourceTemplates', by('uriTemplate', () => onResource())],
];

const UNDECIDED_LIST = { code: UNREADABLE_LIST, message: 'The list cannot be cut for this caller at the moment.' };

/** Filters lists recognised by their shape, because in a resumed stream they answer earlier requests. */
export const cutLists =
  (
    permitted: (questions: readonly Question[]) => Promise<boolean[]>,
    callOf: (task: unknown) => Question | undefined,
    isModern: boolean,
  ): CutLists =>
  async (message) => {
    const result = isObject(message) ? message['result'] : undefined;
    if (!isObject(result)) return false;
    let changed = false;
    for (const [member, named] of [...LISTS, ['tasks', ({ taskId }) => callOf(taskId)] as const satisfies Listed]) {
      const listed = result[member];
      if (!Array.isArray(listed)) continue;
      changed = true;
      const items = listed.flatMap((item: unknown) => {
        const question = isObject(item) ? named(item) : undefined;
        return question ? [{ item, question }] : [];
      });
      let allowed: boolean[];
      try {
        allowed = items.length === 0 ? [] : await permitted(items.map(({ question }) => question));
      } catch {
        // An answer that breaks off would leave the client waiting.
        delete (message as Message)['result'];
        (message as Message)['error'] = UNDECIDED_LIST;
        return true;
      }
      result[member] = items.filter((_, i) => allowed[i]).map(({ item }) => item);
    }
    // Lists differ between callers, so caches must not share them (MCP 2026-07-28, caching).
    if (changed && (isModern || 'cacheScope' in result)) result['cacheScope'] = 'private';
    return changed;
  };
