import { toJsonText } from '../audit/index.ts';
import { isoTime } from '../lib/clock.ts';
import type { StreamEventRow } from '../storage/index.ts';

/** On the stream every event is `evt_...`, an audit entry too. */
export const eventId = (id: string): string => (id.startsWith('aud_') ? `evt_${id.slice(4)}` : id);

const text = (value: string): string => JSON.stringify(value);

/** The whole record as JSON (specification 2.7, contract 13). */
export function toJson(row: StreamEventRow): string {
  const data = row.type === 'audit' ? toJsonText(row) : (row.data ?? '{}');
  const agent = row.agent_id === null ? '' : `,"agentId":${text(row.agent_id)}`;
  const user = row.user_id === null ? '' : `,"userId":${text(row.user_id)}`;
  return `{"id":"${eventId(row.id)}","type":"${row.type}","timestamp":"${isoTime(row.timestamp)}","data":${data}${agent}${user}}`;
}

/** Of a frame beside what an agent or a payload brings. */
const FRAME_BYTES = 700;

/** One event on its way to streams: who may see it, and its bytes, made once for all of them when the first one sees it. */
export class Frame {
  readonly seq: number;
  readonly type: string;
  readonly agentId: string | null;
  readonly userId: string | null;
  /** About as many bytes as it keeps. */
  readonly weight: number;
  #row: StreamEventRow | undefined;
  /** Outside of the heap: thousands of frames are kept for a moment. */
  #wire: Uint8Array | undefined;

  constructor(row: StreamEventRow) {
    this.seq = row.seq;
    this.type = row.type;
    this.agentId = row.agent_id;
    this.userId = row.user_id;
    this.weight = FRAME_BYTES + (row.parameters ?? row.data ?? '').length;
    this.#row = row;
  }

  /** `id:`, `event:` and `data:` (HTML, section 9.2). */
  get wire(): Uint8Array {
    if (this.#row) {
      this.#wire = Buffer.from(`id: ${eventId(this.#row.id)}\nevent: ${this.type}\ndata: ${toJson(this.#row)}\n\n`);
      this.#row = undefined;
    }
    return this.#wire as Uint8Array;
  }
}
