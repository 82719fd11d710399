import { InProgress } from '../../kernel/in-progress.ts';
import { failWith, OpenRequests, pathOf, type Sender } from './http-request.ts';
import { cancelledBy, type OpenRequest } from './open-request.ts';
import { type Channel, type ChannelEvents, OutcomeUnknown, ServerUnavailable } from './peer.ts';
import { messagesIn, readEvents } from './read-events.ts';

/**
 * Connects to a server over HTTP with SSE (MCP 2024-11-05): answers come on a stream, whose first event names the
 * address for messages. It has to be of the same origin, because messages carry the headers for this server.
 */
export function openSse(
  url: string,
  { maxChars, limitMs }: { readonly maxChars: number; readonly limitMs: number },
  { send }: Pick<Sender, 'send'>,
  events: ChannelEvents,
): Channel {
  const open = new OpenRequests();
  /** Requests that are being sent, by the gateway's ids. */
  const sending = new InProgress<OpenRequest>();
  const connect = new Promise<string>((resolve, reject) => {
    const take = ({ name, data }: { name: string | undefined; data: string }): boolean => {
      if (name === 'endpoint') {
        const address = URL.canParse(data, url) ? new URL(data, url) : undefined;
        if (address?.origin === new URL(url).origin) resolve(pathOf(address.href));
        else reject(new ServerUnavailable('its address for messages is on another origin'));
      } else for (const message of messagesIn({ data })) events.message(message);
      return false;
    };
    const listen = async (end: OpenRequest): Promise<void> => {
      const headers = { accept: 'text/event-stream' };
      const answer = await send({ method: 'GET', path: pathOf(url), headers, end });
      if (!answer.ok) return failWith(answer);
      if (!answer.isOf('text/event-stream')) {
        answer.discard();
        throw new ServerUnavailable('it offers neither Streamable HTTP nor SSE');
      }
      await readEvents(answer, maxChars, take);
      throw new OutcomeUnknown('its stream ended');
    };
    open.during(listen).catch((error: Error) => {
      reject(error);
      events.ended(error);
    });
  });
  connect.catch(() => {});
  return {
    send: async (message) => {
      const headers = { accept: 'application/json, text/event-stream' };
      const path = await connect;
      const isRequest = message['id'] !== undefined && message['method'] !== undefined;
      const cancelled = cancelledBy(message, sending);
      if (cancelled) {
        if (!cancelled.isSent) return cancelled.end();
        cancelled.isCancelled = true;
      }
      await open.during(
        async (end) => {
          if (isRequest) sending.set(Number(message['id']), end);
          try {
            const answer = await send({ method: 'POST', path, headers, message, end });
            if (!answer.ok) return failWith(answer);
            return answer.discard();
          } finally {
            if (isRequest) sending.delete(Number(message['id']));
          }
        },
        isRequest ? undefined : limitMs,
      );
    },
    close: async () => open.end(),
  };
}
