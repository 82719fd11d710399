import type { InProgress } from '../../kernel/in-progress.ts';
import { isObject, type Message } from '../guard/json-rpc.ts';
import { Ending } from './ending.ts';

/** The end of one HTTP request, with the number of the request in its connection. */
export class OpenRequest extends Ending {
  readonly number: number;
  /** Whether at least one attempt to send it has begun. */
  isSent = false;
  /** It is not sent any more, but its response stays open. */
  isCancelled = false;

  constructor(number = 0) {
    super();
    this.number = number;
  }
}

/** Returns the request that a message cancels, if it is one of these. */
export const cancelledBy = ({ method, params }: Message, running: InProgress<OpenRequest>): OpenRequest | undefined =>
  method === 'notifications/cancelled' && isObject(params) ? running.get(Number(params['requestId'])) : undefined;
