import { yieldOnce } from '../../kernel/yield-once.ts';
import type { StreamEventRow } from '../../storage/index.ts';
import { clientOf } from './client.ts';
import { COLUMNS, ColumnBuilder, type ColumnName, type Dictionary } from './column.ts';

/** Maximum number of rows in a segment. A segment also closes when its values need too much memory. */
export const SEGMENT_ROWS = 16_384;
const MAX_CHARS = 4_194_304;
const MAX_SPAN_MS = 0xffff_ffff;
/** Number of digests that are computed without a pause. */
const DIGESTS_AT_ONCE = 1000;

/** The columns of a row that are indexed, in addition to its type and client. */
export interface IndexedFields {
  readonly agentId: string | null;
  readonly userId: string | null;
  readonly action: string | null;
  readonly resource: string | null;
  readonly result: string | null;
  readonly reason: string | null;
  readonly ip: string | null;
  /** JSON array. */
  readonly delegationIds: string | null;
}

/** The columns of a {@link SourceRow}. */
export const SOURCE_COLUMNS = [
  'seq',
  'timestamp',
  'type',
  'agent_id',
  'user_id',
  'action',
  'resource',
  'result',
  'reason',
  'ip',
  'delegation_ids',
  'change',
  'decided',
] as const satisfies readonly (keyof StreamEventRow)[];

export type SourceRow = readonly [
  seq: number,
  timestamp: number,
  type: string,
  agentId: string | null,
  userId: string | null,
  action: string | null,
  resource: string | null,
  result: string | null,
  reason: string | null,
  ip: string | null,
  delegationIds: string | null,
  change: string | null,
  decided: string | null,
];

const fieldsOf = (row: SourceRow): IndexedFields => ({
  agentId: row[3],
  userId: row[4],
  action: row[5],
  resource: row[6],
  result: row[7],
  reason: row[8],
  ip: row[9],
  delegationIds: row[10],
});

/** Rows with consecutive sequence numbers, stored by column. */
export interface Segment {
  /** Sequence of the first row. */
  readonly first: number;
  /** Number of sequence numbers in the segment. Those without a row have no value in any column. */
  readonly size: number;
  readonly firstTime: number;
  readonly lastTime: number;
}

/** A segment in memory, to which rows are added at the end. */
export class SegmentBuilder implements Segment {
  readonly first: number;
  readonly #columns: Readonly<Record<ColumnName, ColumnBuilder>>;
  /** Milliseconds after the first row. */
  #times = new Uint32Array(256);
  size = 0;
  firstTime = 0;
  lastTime = 0;

  readonly #rows: number;

  /** @param rows maximum number of sequence numbers. */
  constructor(first: number, rows: number = SEGMENT_ROWS) {
    this.first = first;
    this.#rows = rows;
    this.#columns = Object.fromEntries(COLUMNS.map((name) => [name, new ColumnBuilder(name)])) as Record<
      ColumnName,
      ColumnBuilder
    >;
  }

  /** Returns whether a row must go into the next segment. */
  isClosedFor(seq: number, timestamp: number): boolean {
    if (this.size === 0) return false;
    if (seq - this.first >= this.#rows || timestamp - this.firstTime > MAX_SPAN_MS) return true;
    // The clock of the ledger was set back.
    if (timestamp < this.lastTime) return true;
    const { resource, delegationId } = this.#columns;
    if (resource.full || delegationId.full) return true;
    // Checked only occasionally, because one row adds little.
    return (this.size & 0xff) === 0 && this.#chars() > MAX_CHARS;
  }

  /** Adds the row of sequence `seq`, which must not be before the end. Numbers in between have no row. */
  add(seq: number, timestamp: number, type: string, clientId: string | null, fields: IndexedFields): void {
    if (this.size === 0) this.firstTime = timestamp;
    const offset = seq - this.first;
    for (; this.size < offset; this.size++) this.#addTime(this.size, this.lastTime || timestamp);
    this.#addTime(offset, timestamp);
    this.lastTime = timestamp;
    const columns = this.#columns;
    columns.type.set(offset, type);
    columns.agentId.set(offset, fields.agentId);
    columns.userId.set(offset, fields.userId);
    columns.action.set(offset, fields.action);
    columns.resource.set(offset, fields.resource);
    columns.result.set(offset, fields.result);
    columns.reason.set(offset, fields.reason);
    columns.ip.set(offset, fields.ip);
    columns.delegationId.set(offset, fields.delegationIds);
    columns.clientId.set(offset, clientId);
    this.size = offset + 1;
  }

  /** Adds sequence numbers without a row until there are `size` in total. */
  extendTo(size: number): void {
    for (; this.size < size; this.size++) this.#addTime(this.size, this.lastTime);
  }

  addRow(row: SourceRow): void {
    this.add(row[0], row[1], row[2], clientOf(row[12], row[11]), fieldsOf(row));
  }

  ordinals(name: ColumnName): Uint16Array {
    const { ordinals } = this.#columns[name];
    return ordinals.length >= this.size ? ordinals : grownTo(this.size, ordinals);
  }

  /** Computes the digests for `dictionary` in small steps. */
  async digest(name: ColumnName): Promise<void> {
    while (!this.#columns[name].digestSome(DIGESTS_AT_ONCE)) await yieldOnce();
  }

  dictionary(name: ColumnName): Dictionary {
    return this.#columns[name].dictionary();
  }

  get times(): Uint32Array {
    return this.#times;
  }

  #addTime(offset: number, timestamp: number): void {
    if (offset >= this.#times.length) this.#times = grownTo(offset + 1, this.#times);
    this.#times[offset] = timestamp - this.firstTime;
  }

  #chars(): number {
    let chars = 0;
    for (const name of COLUMNS) chars += this.#columns[name].chars;
    return chars;
  }
}

function grownTo<A extends Uint16Array | Uint32Array>(size: number, array: A): A {
  const grown = new (array.constructor as new (length: number) => A)(2 ** Math.ceil(Math.log2(Math.max(size, 256))));
  grown.set(array);
  return grown;
}
