import type { Visibility } from '../../access/principal.ts';
import { isoTime } from '../../kernel/clock.ts';
import { type SlotHolder, SlotShares } from '../../kernel/slots.ts';
import type { Order } from '../../ledger/index.ts';
import { defineState, type Platform } from '../../platform.ts';
import type { StreamEventRow } from '../../storage/index.ts';
import { CSV_HEADER, toCsvLine, toJsonText } from './entry.ts';
import { AuditErrors } from './errors.ts';
import { entryFilter } from './query.ts';
import type { AuditFilter, ExportFormat } from './schema.ts';

/** Concurrent exports of one instance, those reserved for administrators, and the maximum per caller. */
const MAX_EXPORTS = 6;
const MAX_EXPORTS_OF_ADMINISTRATORS = 1;
/** One for each format. */
const MAX_EXPORTS_OF_A_PRINCIPAL = 3;
const MAX_EXPORTS_OF_AN_OWNER = 4;

export const runningExports = defineState(() => ({
  count: 0,
  shares: new SlotShares(MAX_EXPORTS_OF_A_PRINCIPAL, MAX_EXPORTS_OF_AN_OWNER),
}));

/**
 * Takes a slot for an export and returns a function that frees it. Administrators have no holder. Throws 503
 * TOO_MANY_EXPORTS.
 */
function takeSlot(platform: Platform, holder: SlotHolder | undefined): () => void {
  const own = platform.stateOf(runningExports);
  const free = MAX_EXPORTS - (holder ? MAX_EXPORTS_OF_ADMINISTRATORS : 0) - own.count;
  if (free <= 0 || (holder && !own.shares.hasRoomFor(holder)))
    throw AuditErrors.TOO_MANY_EXPORTS({ headers: { 'retry-after': '10' } });
  own.count++;
  if (holder) own.shares.add(holder);
  return () => {
    own.count--;
    if (holder) own.shares.delete(holder);
  };
}

/** A reader that accepts nothing for this long loses its slot. */
const STALLED_MS = 60_000;

interface Format {
  readonly mediaType: string;
  readonly head: string;
  readonly rows: (rows: readonly StreamEventRow[], first: boolean) => string;
  readonly tail: string;
}

const lines = (rows: readonly StreamEventRow[], render: (row: StreamEventRow) => string, end: string): string => {
  let out = '';
  for (const row of rows) out += render(row) + end;
  return out;
};

const FORMATS: Readonly<Record<ExportFormat, Format>> = {
  json: {
    mediaType: 'application/json; charset=utf-8',
    head: '[',
    rows: (rows, first) => {
      let out = '';
      for (const row of rows) out += (first && out === '' ? '\n' : ',\n') + toJsonText(row);
      return out;
    },
    tail: '\n]\n',
  },
  csv: {
    mediaType: 'text/csv; charset=utf-8; header=present',
    head: `${CSV_HEADER}\r\n`,
    rows: (rows) => lines(rows, toCsvLine, '\r\n'),
    tail: '',
  },
  ndjson: {
    mediaType: 'application/x-ndjson; charset=utf-8',
    head: '',
    rows: (rows) => lines(rows, toJsonText, '\n'),
    tail: '',
  },
};

/**
 * Exports all matching entries, oldest first unless `order` is `desc`, at the pace of the reader and in constant
 * memory. The export ends at the end of the ledger at its start. An error breaks the connection, so that an incomplete
 * file never looks complete; so does a reader that accepts nothing for a minute. Throws 503 TOO_MANY_EXPORTS.
 */
export function exportAudit(
  platform: Platform,
  visibility: Visibility,
  { format, order, ...filter }: AuditFilter & { format: ExportFormat; order: Order },
  holder?: SlotHolder,
): Response {
  const release = takeSlot(platform, holder);
  const { mediaType, head, rows: render, tail } = FORMATS[format];
  const slices = slicesOf(platform, visibility, filter, order);
  const encoder = new TextEncoder();
  let first = true;
  let open = true;
  let stalled: NodeJS.Timeout | undefined;
  const end = (): void => {
    clearTimeout(stalled);
    if (open) release();
    open = false;
  };
  const abort = (controller: ReadableStreamDefaultController, error: unknown): void => {
    end();
    platform.log.error({ err: error }, 'an export broke off');
    controller.error(error);
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        if (head) controller.enqueue(encoder.encode(head));
      },
      pull: async (controller) => {
        clearTimeout(stalled);
        try {
          const { value, done } = await slices.next();
          if (!open) return;
          if (done) {
            if (tail) controller.enqueue(encoder.encode(tail));
            controller.close();
            end();
            return;
          }
          controller.enqueue(encoder.encode(render(value, first)));
          first = false;
          stalled = setTimeout(
            () => abort(controller, new Error(`the reader took nothing for ${STALLED_MS} ms`)),
            STALLED_MS,
          );
          stalled.unref();
        } catch (error) {
          abort(controller, error);
        }
      },
      cancel: async () => {
        end();
        await slices.return(undefined);
      },
    },
    { highWaterMark: 1 },
  );
  const stamp = isoTime(platform.clock.now()).replaceAll(/[:.]/g, '-');
  return new Response(body, {
    status: 200,
    headers: {
      'content-type': mediaType,
      'content-disposition': `attachment; filename="audit-${stamp}.${format}"`,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    },
  });
}

async function* slicesOf(
  platform: Platform,
  visibility: Visibility,
  filter: AuditFilter,
  order: Order,
): AsyncGenerator<StreamEventRow[]> {
  yield* platform.reader.slices(await entryFilter(platform.database.read, visibility, filter), order);
}
