import { hasUrlElicitation, isObject, type Message, type RpcError } from '../guard/json-rpc.ts';
import type { Ending } from './ending.ts';
import type { Answer, Askable, Party } from './peer.ts';
import type { GatewayServer } from './servers-file.ts';

const ELICITATION = 'elicitation/create';
const SAMPLING = 'sampling/createMessage';
const ROOTS = 'roots/list';
/** Time that a client has to answer a request of a server. */
export const ANSWER_MS = 10 * 60_000;

type Settings = Pick<GatewayServer, 'legate'>;

/** Returns the requests that a server may send to clients of the gateway. */
export const askableOf = ({ legate: { sampling, roots, isolation } }: Settings): Askable => ({
  methods: new Set([ELICITATION, ...(sampling ? [SAMPLING] : []), ...(roots ? [ROOTS] : [])]),
  unassigned: isolation !== 'shared',
});

/** The capabilities that the gateway declares on a connection that clients with different ones share. */
export const ALL_CAPABILITIES: Message = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/** Returns the capabilities of a client that are passed on to a server. */
export const capabilitiesForServer = (declared: Message, { legate: { sampling, roots } }: Settings): Message =>
  Object.fromEntries(
    (['elicitation', ...(sampling ? ['sampling'] : []), ...(roots ? ['roots'] : [])] as const)
      .filter((name) => isObject(declared[name]))
      .map((name) => [name, declared[name]]),
  );

/** Returns whether a client has declared that it answers a kind of request. An empty `elicitation` means forms only. */
export function canAnswer(capabilities: Message, method: unknown, params: Message): boolean {
  const { elicitation, sampling, roots } = capabilities;
  switch (method) {
    case ELICITATION:
      if (params['mode'] === 'url') return hasUrlElicitation(capabilities);
      return isObject(elicitation) && (isObject(elicitation['form']) || Object.keys(elicitation).length === 0);
    case SAMPLING:
      return isObject(sampling) && (params['tools'] === undefined || isObject(sampling['tools']));
    case ROOTS:
      return isObject(roots);
    default:
      return false;
  }
}

const refused = (code: number, message: string): { readonly error: RpcError } => ({ error: { code, message } });
const INVALID_REQUEST = -32600;
const INTERNAL_ERROR = -32603;

export const CANNOT_ANSWER = refused(INVALID_REQUEST, 'The client does not support this request.');
export const NOT_ANSWERED = refused(INTERNAL_ERROR, 'The client did not answer.');

/** Returns the answer of a client to a request of a server. */
export const answerOf = ({ result, error }: Message): Answer => {
  if (isObject(error)) return { error: error as unknown as RpcError };
  return isObject(result) ? { result } : NOT_ANSWERED;
};

/** Asks a client for the input that the server needs. Returns undefined unless the client answers every request. */
export async function inputOf(requests: Message, ask: Party['ask'], signal: Ending): Promise<Message | undefined> {
  const asked = Object.entries(requests).map(async ([key, request]): Promise<[string, Answer]> => {
    const { method, params } = isObject(request) ? request : {};
    return [key, await ask({ method: String(method), params: isObject(params) ? params : {}, signal })];
  });
  const answers = (await Promise.all(asked)).map(([key, answer]) => ('result' in answer ? [key, answer.result] : []));
  return answers.every(({ length }) => length > 0) ? Object.fromEntries(answers) : undefined;
}
