import { pipeline, Readable } from 'node:stream';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';
import type { z } from 'zod';
import type { Visibility } from '../../access/principal.ts';
import { offerDirect } from '../../http/node-body.ts';
import { isoTime } from '../../kernel/clock.ts';
import { CommonErrors } from '../../kernel/errors.ts';
import { assertOrdered } from '../../kernel/query.ts';
import { SharedSlots, type SlotHolder } from '../../kernel/slots.ts';
import { type EntryFilter, type Order, prunedUpTo, readHead } from '../../ledger/index.ts';
import { defineState, type Platform } from '../../platform.ts';
import type { StreamEventRow } from '../../storage/index.ts';
import { SealErrors } from '../seal/errors.ts';
import { hasNoLeaf, logOfExport, sealedEntries, sealedSpan } from '../seal/sealed-export.ts';
import { CSV_HEADER, toCsvLine, toJsonText } from './entry.ts';
import { AuditErrors } from './errors.ts';
import { entryFilter } from './query.ts';
import type { ExportFormat, SealedExport } from './schema.ts';

/** Concurrent exports of one instance, those reserved for administrators, and the maximum per caller. */
const MAX_EXPORTS = 6;
const MAX_EXPORTS_OF_ADMINISTRATORS = 1;
/** One for each format. */
const MAX_EXPORTS_OF_A_PRINCIPAL = 3;
const MAX_EXPORTS_OF_AN_OWNER = 4;

export const runningExports = defineState(
  () =>
    new SharedSlots(MAX_EXPORTS, MAX_EXPORTS_OF_ADMINISTRATORS, MAX_EXPORTS_OF_A_PRINCIPAL, MAX_EXPORTS_OF_AN_OWNER),
);

/**
 * Takes a slot for an export and returns a function that frees it. Administrators have no holder. Throws 503
 * TOO_MANY_EXPORTS.
 */
function takeSlot({ stateOf }: Pick<Platform, 'stateOf'>, holder: SlotHolder | undefined): () => void {
  const release = stateOf(runningExports).take(holder);
  if (!release) throw AuditErrors.TOO_MANY_EXPORTS({ headers: { 'retry-after': '10' } });
  return release;
}

/** A reader that reads nothing for this long loses its slot. */
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
 * file never looks complete; so does a reader that accepts nothing for a minute. Throws 400 if `until` is before
 * `since`, and 503 TOO_MANY_EXPORTS.
 */
export function exportAudit(
  platform: Pick<Platform, 'clock' | 'database' | 'log' | 'reader' | 'stateOf'>,
  visibility: Visibility,
  { format, order, ...filter }: z.output<typeof SealedExport> & { format: ExportFormat; order: Order },
  holder?: SlotHolder,
): Response {
  assertOrdered(filter);
  const { mediaType, head, rows: render, tail } = FORMATS[format];
  const texts = async function* (): AsyncGenerator<string> {
    if (head) yield head;
    let first = true;
    const wanted = await wantedRows(platform, visibility, filter);
    for await (const rows of platform.reader.slices(wanted, order)) {
      yield render(rows, first);
      first = false;
    }
    if (tail) yield tail;
  };
  return fileOf(platform, takeSlot(platform, holder), texts(), mediaType, format);
}

/**
 * Exports rows in a form whose completeness can be checked offline. For `isAdmin` that is every row of a range of
 * sequence numbers, or of a time with the row on each side of it; with other filters, and for others, it is the
 * matching entries, each with its proof. Throws 400 (also as INVALID_TREE_RANGE), 403, 404 LEDGER_NOT_SEALED, 409
 * NOT_YET_SEALED and 503 TOO_MANY_EXPORTS.
 */
export async function exportSealed(
  platform: Pick<Platform, 'clock' | 'database' | 'log' | 'reader' | 'stateOf'>,
  visibility: Visibility,
  { fromSeq, toSeq, ...filter }: z.output<typeof SealedExport>,
  isAdmin: boolean,
  holder?: SlotHolder,
): Promise<Response> {
  const isRange = fromSeq !== undefined || toSeq !== undefined;
  const { since, until, ...others } = filter;
  const isTime = since !== undefined || until !== undefined;
  const hasFilters = (isRange && isTime) || Object.values(others).some((value) => value !== undefined);
  if (isRange && !isAdmin) throw CommonErrors.FORBIDDEN();
  const wanted = await wantedRows(platform, visibility, { ...filter, fromSeq, toSeq });
  const head = await readHead(platform.database.read);
  if (isRange && ((fromSeq ?? 1) > (toSeq ?? head) || (toSeq ?? 0) > head)) throw SealErrors.INVALID_TREE_RANGE();
  const pruned = await prunedUpTo(platform.database.read);
  if (fromSeq !== undefined && hasNoLeaf(fromSeq, pruned)) throw SealErrors.LEDGER_ROW_NOT_FOUND();
  const log = await logOfExport(platform, toSeq ?? head);
  const release = takeSlot(platform, holder);
  try {
    const texts =
      isAdmin && !hasFilters
        ? sealedSpan(
            platform,
            log,
            fromSeq ?? Math.max(pruned + 1, since === undefined ? 1 : (await platform.reader.seqAt(since)) - 1),
            toSeq ?? Math.min(head, until === undefined ? head : await platform.reader.seqAt(until)),
          )
        : sealedEntries(platform, log, platform.reader.slices(wanted));
    return fileOf(platform, release, texts, FORMATS.ndjson.mediaType, 'sealed.ndjson');
  } catch (error) {
    release();
    throw error;
  }
}

/** Streams a file at the pace of the reader. An error, or a reader that accepts nothing for a minute, breaks it off. */
function fileOf(
  { clock, log }: Pick<Platform, 'clock' | 'log'>,
  release: () => void,
  texts: AsyncGenerator<string>,
  mediaType: string,
  extension: string,
): Response {
  const encoder = new TextEncoder();
  let open = true;
  let stalled: NodeJS.Timeout | undefined;
  const end = (): void => {
    clearTimeout(stalled);
    if (open) release();
    open = false;
  };
  const abort = (controller: ReadableStreamDefaultController, error: unknown): void => {
    end();
    log.error({ err: error }, 'an export broke off');
    // Servers may send the message of this error to the client.
    controller.error(new Error('The export broke off.'));
  };
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        clearTimeout(stalled);
        try {
          const { value, done } = await texts.next();
          if (!open) return;
          if (done) {
            controller.close();
            end();
            return;
          }
          controller.enqueue(encoder.encode(value));
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
        await texts.return(undefined);
      },
    },
    { highWaterMark: 1 },
  );
  // An error breaks the connection, whatever was sent before it.
  offerDirect(body, (res) => {
    res.flushHeaders();
    pipeline(Readable.fromWeb(body as NodeReadableStream), res, () => {});
  });
  const stamp = isoTime(clock.now()).replaceAll(/[:.]/g, '-');
  return new Response(body, {
    status: 200,
    headers: {
      'content-type': mediaType,
      'content-disposition': `attachment; filename="audit-${stamp}.${extension}"`,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    },
  });
}

/** The rows that a query selects among those that the caller may see. Throws 400. */
async function wantedRows(
  { database }: Pick<Platform, 'database'>,
  visibility: Visibility,
  { fromSeq, toSeq, ...query }: z.output<typeof SealedExport>,
): Promise<EntryFilter> {
  return {
    ...(await entryFilter(database.read, visibility, query)),
    ...(fromSeq === undefined ? {} : { afterSeq: fromSeq - 1 }),
    ...(toSeq === undefined ? {} : { beforeSeq: toSeq + 1 }),
  };
}
