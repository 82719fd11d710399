import type { Id } from '../../kernel/ids.ts';
import { isObject, type Message } from '../guard/json-rpc.ts';
import type { EventStream } from './event-stream.ts';
import type { ServerInfo } from './list-tools.ts';
import { type Permitted, unreadable } from './lists/readable.ts';
import { MODERN_REVISION } from './messages.ts';
import { taskCapabilities } from './tasks.ts';

const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';
const MAX_URIS = 100;
/** Capabilities of a server that the gateway passes on. */
const CAPABILITIES = ['tools', 'prompts', 'resources', 'completions', 'logging'] as const;

/** The lists and resources that a client of MCP 2026-07-28 listens to. */
export interface Filter {
  readonly toolsListChanged?: true;
  readonly promptsListChanged?: true;
  readonly resourcesListChanged?: true;
  readonly resourceSubscriptions?: readonly string[];
}

const LIST_CHANGES = {
  'notifications/tools/list_changed': 'toolsListChanged',
  'notifications/prompts/list_changed': 'promptsListChanged',
  'notifications/resources/list_changed': 'resourcesListChanged',
} as const;

/** The lists that the gateway filters, by the capability of the server. */
const LISTS = ['tools', 'prompts', 'resources'] as const;

/** Returns the notifications of changed lists; with capabilities, only those of lists that the server has. */
export const listChanges = (capabilities?: Message): string[] =>
  LISTS.filter((name) => !capabilities || isObject(capabilities[name])).map(
    (name) => `notifications/${name}/list_changed`,
  );

/** Returns the lists and resources of a listen request; undefined if it is malformed. */
export function filterOf({ notifications }: Message): Filter | undefined {
  if (!isObject(notifications)) return undefined;
  const { resourceSubscriptions: uris = [] } = notifications;
  const isList = Array.isArray(uris) && uris.length <= MAX_URIS && uris.every((uri) => typeof uri === 'string');
  const kinds = Object.values(LIST_CHANGES);
  const areFlags = kinds.every((kind) => [undefined, true, false].includes(notifications[kind] as boolean | undefined));
  if (!isList || !areFlags) return undefined;
  return {
    ...Object.fromEntries(kinds.filter((kind) => notifications[kind] === true).map((kind) => [kind, true])),
    ...(uris.length > 0 && { resourceSubscriptions: [...new Set<string>(uris)] }),
  };
}

/**
 * Returns the part of a filter for which notifications will be sent. The gateway itself announces changed lists, when
 * the permissions of the agent or the approved tools change.
 */
export function honoured(filter: Filter, { capabilities }: Pick<ServerInfo, 'capabilities'>): Filter {
  const { tools, prompts, resources } = capabilities;
  const { resourceSubscriptions: uris } = filter;
  return {
    ...(filter.toolsListChanged && isObject(tools) && { toolsListChanged: true }),
    ...(filter.promptsListChanged && isObject(prompts) && { promptsListChanged: true }),
    ...(filter.resourcesListChanged && isObject(resources) && { resourcesListChanged: true }),
    ...(uris && isObject(resources) && resources['subscribe'] === true && { resourceSubscriptions: uris }),
  };
}

/** Returns the capabilities of a server as declared to a client. */
export function capabilitiesForClient(info: Pick<ServerInfo, 'capabilities' | 'revision'>, ofClient: string): Message {
  const { capabilities, revision } = info;
  const named = CAPABILITIES.filter((name) => isObject(capabilities[name]));
  const tasks = taskCapabilities(info, ofClient);
  if (ofClient !== MODERN_REVISION && revision !== MODERN_REVISION) {
    const declared = (name: string): Message => ({
      ...(capabilities[name] as Message),
      ...(LISTS.some((list) => list === name) && { listChanged: true }),
    });
    return { ...Object.fromEntries(named.map((name) => [name, declared(name)])), ...tasks };
  }
  // If either side uses 2026-07-28, a client is notified only of changes that `subscriptions/listen` supports.
  const { toolsListChanged, promptsListChanged, resourcesListChanged, resourceSubscriptions } = honoured(
    { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true, resourceSubscriptions: [] },
    info,
  );
  const heard: Readonly<Record<string, Message>> = {
    tools: toolsListChanged ? { listChanged: true } : {},
    prompts: promptsListChanged ? { listChanged: true } : {},
    resources: {
      ...(resourcesListChanged && { listChanged: true }),
      ...(resourceSubscriptions && { subscribe: true }),
    },
  };
  // In 2026-07-28, a request states its level instead of `logging/setLevel`, and the gateway passes on neither of them.
  const known = named.filter((name) => name !== 'logging');
  return { ...Object.fromEntries(known.map((name) => [name, heard[name] ?? {}])), ...tasks };
}

/** The answer to one `subscriptions/listen`: a stream that names the id of the request in each notification. */
export class Listener {
  /** The connection to the server whose notifications it receives. */
  readonly key: string;
  readonly filter: Filter;
  readonly agent: Id<'agent'>;
  readonly permitted: Permitted;
  readonly #id: string | number;
  readonly #stream: EventStream;
  readonly #uris: Set<string>;

  constructor(
    { key, agent, filter, permitted }: Pick<Listener, 'key' | 'agent' | 'filter' | 'permitted'>,
    id: string | number,
    stream: EventStream,
  ) {
    this.key = key;
    this.agent = agent;
    this.filter = filter;
    this.permitted = permitted;
    this.#id = id;
    this.#stream = stream;
    this.#uris = new Set(filter.resourceSubscriptions);
    this.#send('notifications/subscriptions/acknowledged', { notifications: filter });
  }

  get isEmpty(): boolean {
    return Object.keys(this.filter).length === 0;
  }

  listensTo(uri: string): boolean {
    return this.#uris.has(uri);
  }

  /** Stops listening to resources that the client may no longer read, and returns them. */
  async narrow(): Promise<string[]> {
    const lost = await unreadable([...this.#uris], this.permitted);
    for (const uri of lost) this.#uris.delete(uri);
    return lost;
  }

  /** Passes a notification on if the client listens to it. */
  notify(method: string, params: Message): void {
    const isWanted =
      method === 'notifications/resources/updated'
        ? this.listensTo(String(params['uri']))
        : method in LIST_CHANGES && this.filter[LIST_CHANGES[method as keyof typeof LIST_CHANGES]] === true;
    if (isWanted) this.#send(method, params);
  }

  /** Ends the stream with the result of the request, after which the client may listen again. */
  end(serverInfo?: Message): void {
    const meta = { [SUBSCRIPTION_ID]: this.#id, ...(serverInfo && { [SERVER_INFO]: serverInfo }) };
    this.#stream.send({ jsonrpc: '2.0', id: this.#id, result: { resultType: 'complete', _meta: meta } });
    this.#stream.end();
  }

  #send(method: string, params: Message): void {
    const meta = isObject(params['_meta']) ? params['_meta'] : {};
    this.#stream.send({
      jsonrpc: '2.0',
      method,
      params: { ...params, _meta: { ...meta, [SUBSCRIPTION_ID]: this.#id } },
    });
  }
}
