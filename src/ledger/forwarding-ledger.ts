import type { LedgerPort } from './ledger.ts';

/** Base class of ledgers for a single request. Reads and listeners are forwarded to the ledger of the service. */
export abstract class ForwardingLedger {
  protected readonly ledger: LedgerPort;

  constructor(ledger: LedgerPort) {
    this.ledger = ledger;
  }

  get stats(): LedgerPort['stats'] {
    return this.ledger.stats;
  }
  get epoch(): LedgerPort['epoch'] {
    return this.ledger.epoch;
  }
  get history(): LedgerPort['history'] {
    return this.ledger.history;
  }
  get notices(): LedgerPort['notices'] {
    return this.ledger.notices;
  }
  get time(): LedgerPort['time'] {
    return this.ledger.time;
  }

  onCommit: LedgerPort['onCommit'] = (listener) => this.ledger.onCommit(listener);
  onInvalidate: LedgerPort['onInvalidate'] = (listener) => this.ledger.onInvalidate(listener);
  rehearse: LedgerPort['rehearse'] = (by, work, rehearsal) => this.ledger.rehearse(by, work, rehearsal);
  note: LedgerPort['note'] = (event) => this.ledger.note(event);
  foldLog: LedgerPort['foldLog'] = () => this.ledger.foldLog();
  close: LedgerPort['close'] = () => this.ledger.close();
}
