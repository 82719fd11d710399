import { idOf, isObject, type Message, type MessageId, messagesOf, paramsOf } from './json-rpc.ts';

/**
 * The subject of a decision: a tool by its name, resources and prompts by a name that begins with `@` (contract 20).
 */
export interface Question {
  /** The part of the resource after `mcp:<server>:`. */
  readonly name: string;
  readonly reads: boolean;
  readonly arguments?: Record<string, unknown> | undefined;
}

/** Returns whether the name in a resource stands for resources or a prompt, and so cannot be that of a tool. */
export const isReservedName = (name: string): boolean => name === '@resources' || name.startsWith('@prompts:');

/** A question that a message of the client requires. */
export interface Ask extends Question {
  readonly id: MessageId | undefined;
  readonly message: Message;
  /** Name for people and models. */
  readonly label: () => string;
}

export const onTool = (tool: string): Question => ({ name: tool, reads: false });
export const onPrompt = (prompt: string): Question => ({ name: `@prompts:${prompt}`, reads: true });
/** Without a URI: any resource. */
export const onResource = (uri?: string): Question => ({
  name: '@resources',
  reads: true,
  ...(uri === undefined ? {} : { arguments: { uri } }),
});

/** A name that is not a string becomes the empty name, which no tool has. */
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const objectOr = (value: unknown): Message => (isObject(value) ? value : {});

type Read = (params: Message) => (Question & Pick<Ask, 'label'>)[];

const prompt = (name: string, args?: unknown) => ({
  label: () => `The prompt ${JSON.stringify(name)}`,
  ...onPrompt(name),
  ...(isObject(args) ? { arguments: args } : {}),
});
const resource = (uri: string) => ({ label: () => `The resource ${JSON.stringify(uri)}`, ...onResource(uri) });

const READINGS: ReadonlyMap<unknown, Read> = new Map<unknown, Read>([
  [
    'tools/call',
    ({ name, arguments: args }) => [
      {
        label: () => `The tool ${JSON.stringify(text(name))}`,
        ...onTool(text(name)),
        ...(isObject(args) ? { arguments: args } : {}),
      },
    ],
  ],
  ['prompts/get', ({ name, arguments: args }) => [prompt(text(name), args)]],
  ['resources/read', ({ uri }) => [resource(text(uri))]],
  ['resources/subscribe', ({ uri }) => [resource(text(uri))]],
  [
    'subscriptions/listen',
    ({ notifications }) => {
      const uris = objectOr(notifications)['resourceSubscriptions'];
      return Array.isArray(uris) ? uris.map((uri) => resource(text(uri))) : [];
    },
  ],
  [
    'completion/complete',
    ({ ref }) => {
      const { type, name, uri } = objectOr(ref);
      return [type === 'ref/prompt' ? prompt(text(name)) : resource(text(uri))];
    },
  ],
]);

/** Returns whether a body has arguments that are not an object. No decision could consider them. */
export const hasMalformedArguments = (body: unknown): boolean =>
  messagesOf(body).some((message) => {
    const { arguments: args } = paramsOf(message);
    const isCall = message['method'] === 'tools/call' || message['method'] === 'prompts/get';
    return isCall && args !== undefined && args !== null && !isObject(args);
  });

/** Returns all questions of a body, in order. */
export const asksOf = (body: unknown): Ask[] => {
  const asks: Ask[] = [];
  for (const message of messagesOf(body)) {
    const read = READINGS.get(message['method']);
    if (read) for (const question of read(paramsOf(message))) asks.push({ id: idOf(message), message, ...question });
  }
  return asks;
};
