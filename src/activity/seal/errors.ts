import { defineErrors } from '../../kernel/errors.ts';
import { ErasureErrors } from '../../ledger/index.ts';

export const SealErrors = {
  ...ErasureErrors,
  ...defineErrors({
    LEDGER_NOT_SEALED: [404, 'The ledger is not sealed: ledger.seal is off, or no checkpoint has been signed yet.'],
    LEDGER_LOG_NOT_FOUND: [404, 'The ledger has no log with this id. GET /ledger/logs lists them.'],
    LEDGER_LOG_ENDED: [409, 'This log has ended and no longer proves entries. The current log has all of its entries.'],
    LEDGER_TILE_NOT_FOUND: [404, 'There is no such tile in the newest checkpoint, or the log has lost it.'],
    LEDGER_ROW_NOT_FOUND: [
      404,
      'The ledger has no such row, or the row was erased, or deleted after `audit.retentionDays`.',
    ],
    ENTRY_ERASURE_OFF: [403, 'Whole entries can be erased only with audit.eraseEntries. Use `private` for `what`.'],
    INVALID_TREE_RANGE: [
      400,
      '`from` must not be greater than `to`, and `to` must not be greater than the size of the newest checkpoint.',
    ],
  }),
};
