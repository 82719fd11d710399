import { isObject, type Message } from '../guard/json-rpc.ts';

const texts = new WeakMap<Message, string>();

/** Returns a result of a server as JSON. It is serialised once, for its size and for the client. */
export function resultText(result: Message): string {
  let text = texts.get(result);
  if (text === undefined) {
    text = JSON.stringify(result);
    texts.set(result, text);
  }
  return text;
}

/** Returns an answer as JSON. Its result must be as it was when it was serialised first. */
export function answerText(answer: Message): string {
  const { id, result } = answer;
  const text = isObject(result) ? texts.get(result) : undefined;
  return text === undefined ? JSON.stringify(answer) : `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text}}`;
}
