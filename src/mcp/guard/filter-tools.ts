import { listedTools } from './json-rpc.ts';

/** Which of these tools the caller may call. */
export type Callable = (tools: readonly string[]) => Promise<ReadonlySet<string>>;

/** Cuts `tools/list` in an answer that is passed on piece by piece. What is no list goes through unchanged. */
export interface AnswerFilter {
  /** null: the answer ends here. */
  push(chunk: Uint8Array): Promise<string | Uint8Array | null>;
  end(): Promise<string | Uint8Array>;
}

export interface AnswerRules {
  /** undefined: lists stay as they are. */
  readonly callable: Callable | undefined;
  /** Whether the token still holds: a stream ends before its next event when it does not. */
  readonly alive: () => Promise<boolean>;
}

/** undefined: an answer of this media type goes through as it is. */
export function answerFilter(
  contentType: string | null | undefined,
  { callable, alive }: AnswerRules,
): AnswerFilter | undefined {
  const type = contentType?.split(';')[0]?.trim().toLowerCase();
  if (type === 'application/json') return callable && wholeFilter(callable);
  return type === 'text/event-stream' ? eventFilter(callable, alive) : undefined;
}

const EMPTY = new Uint8Array();

function wholeFilter(callable: Callable): AnswerFilter {
  const chunks: Uint8Array[] = [];
  return {
    push: async (chunk) => {
      chunks.push(chunk);
      return EMPTY;
    },
    end: async () => {
      const bytes = Buffer.concat(chunks);
      return (await cut(bytes.toString('utf8'), callable)) ?? bytes;
    },
  };
}

/** Event streams: an event is passed on once it is whole (HTML, section 9.2.6). */
function eventFilter(callable: Callable | undefined, alive: () => Promise<boolean>): AnswerFilter {
  const decoder = new TextDecoder();
  let rest = '';
  return {
    push: async (chunk) => {
      rest += decoder.decode(chunk, { stream: true });
      let out = '';
      for (;;) {
        const end = /\r\n\r\n|\n\n|\r\r/.exec(rest);
        if (!end) return out;
        if (!(await alive())) return null;
        const event = rest.slice(0, end.index + end[0].length);
        rest = rest.slice(event.length);
        out += callable ? await cutEvent(event, callable) : event;
      }
    },
    end: async () => rest + decoder.decode(),
  };
}

async function cutEvent(event: string, callable: Callable): Promise<string> {
  if (!event.includes('"tools"')) return event;
  const lines = event.split(/\r\n|\n|\r/);
  const data = lines
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(line[5] === ' ' ? 6 : 5))
    .join('\n');
  const changed = await cut(data, callable);
  if (changed === undefined) return event;
  const others = lines.filter((line) => line !== '' && !line.startsWith('data:'));
  return `${[...others, `data: ${changed}`].join('\n')}\n\n`;
}

/** The text of a message or a batch with its lists cut; undefined: there is nothing to cut. */
async function cut(text: string, callable: Callable): Promise<string | undefined> {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  let changed = false;
  for (const message of Array.isArray(body) ? body : [body]) {
    const tools = listedTools(message);
    if (!tools || tools.length === 0) continue;
    const allowed = await callable(tools.map((tool) => tool.name));
    (message as { result: { tools: unknown } }).result.tools = tools.filter((tool) => allowed.has(tool.name));
    changed = true;
  }
  return changed ? JSON.stringify(body) : undefined;
}
