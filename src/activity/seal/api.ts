import type { z } from 'zod';
import type { Actor } from '../../access/actor.ts';
import { applicationCaller } from '../../access/caller.ts';
import { asOverHttp, type InProcess } from '../../access/in-process.ts';
import type { Visibility } from '../../access/principal.ts';
import { parseWith } from '../../kernel/json.ts';
import type { Erasure } from '../../ledger/index.ts';
import type { Platform } from '../../platform.ts';
import { exportSealedInProcess, getAuditRow, type SealedExportOptions } from '../audit/index.ts';
import { eraseEntries } from './erasure/erase-entries.ts';
import { AskErasure } from './erasure/schema.ts';
import { consistencyProof, proofOf } from './proofs.ts';
import { ledgerKeys, ledgerLogs, ledgerStatus } from './read-log.ts';
import {
  AskCheckpoints,
  AskConsistency,
  AskRowProof,
  type Checkpoints,
  type Consistency,
  type LedgerKeys,
  type LedgerLogs,
  type LedgerStatus,
} from './schema.ts';
import { checkpointsAround, currentLog } from './served-log.ts';

/** `legate.ledger`: the sealed ledger as functions, with the rights of an admin. Throws {@link LegateError}. */
export interface LedgerApi {
  /** The newest checkpoint, a signed note. Throws 404 LEDGER_NOT_SEALED. */
  checkpoint(): Promise<string>;
  /** The proof that the tree of `from` rows is the beginning of the tree of `to` rows. */
  consistency(from: number, to?: number): Promise<z.output<typeof Consistency>>;
  /** The kept checkpoints before and after a row. */
  checkpoints(around: number): Promise<z.output<typeof Checkpoints>>;
  keys(): Promise<z.output<typeof LedgerKeys>>;
  logs(): Promise<z.output<typeof LedgerLogs>>;
  status(): Promise<LedgerStatus>;
  /**
   * The proof file of an audit entry by id, or of any row by sequence number. `private: 'withhold'` leaves the private
   * fields out. Throws 404, 409 NOT_YET_SEALED and 409 SEALED_ROW_DIFFERS.
   */
  proof(entry: string | number, options?: { readonly private?: 'withhold' }): Promise<string>;
  /**
   * The file of GET /audit/export?format=sealed: every row from `fromSeq` to `toSeq` or of a time range, or the entries
   * that match other filters. Throws 400 INVALID_TREE_RANGE, 404 LEDGER_NOT_SEALED, 409 NOT_YET_SEALED, 503
   * TOO_MANY_EXPORTS.
   */
  export(options?: SealedExportOptions): Promise<Response>;
  /** Erases audit entries, as POST /audit/erasures. Throws 403 ENTRY_ERASURE_OFF, 409 SEALED_ROW_DIFFERS. */
  erase(selection: ErasureInput): Promise<Erasure>;
}

/** The entries that {@link LedgerApi.erase} erases: those that match all members. */
type ErasureInput = InProcess<z.input<typeof AskErasure>>;

const ALL: Visibility = { kind: 'all' };

export function ledgerApi(platform: Platform, actor: Actor): LedgerApi {
  return {
    checkpoint: async () => (await currentLog(platform)).checkpoint,
    consistency: async (from, to) => {
      const asked = { from: String(from), ...(to === undefined ? {} : { to: String(to) }) };
      const query = parseWith(AskConsistency, asked);
      return consistencyProof(platform, await currentLog(platform), query.from, query.to);
    },
    checkpoints: async (around) => {
      const query = parseWith(AskCheckpoints, { around: String(around) });
      return checkpointsAround(platform, await currentLog(platform), query.around);
    },
    keys: () => ledgerKeys(platform),
    logs: () => ledgerLogs(platform),
    status: () => ledgerStatus(platform),
    export: (options = {}) => exportSealedInProcess(platform, options),
    erase: async (selection) => {
      const { what, ...wanted } = parseWith(AskErasure, asOverHttp(selection));
      return eraseEntries(platform, applicationCaller(actor), wanted, what);
    },
    proof: async (entry, options = {}) => {
      const seq = typeof entry === 'number' ? entry : (await getAuditRow(platform, ALL, entry)).seq;
      const query = parseWith(AskRowProof, { ...options, seq: String(seq) });
      return proofOf(platform, query.seq, query.private === 'withhold');
    },
  };
}
