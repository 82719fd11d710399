import type { Actor } from '../access/actor.ts';
import type { Db, IdempotencyKeyRow } from '../storage/index.ts';
import type { Change, Rehearsal } from './change.ts';
import type { ActedEvent, Commit } from './entry.ts';
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

  onCommit(listener: (commit: Commit) => void): void {
    this.ledger.onCommit(listener);
  }
  onInvalidate(listener: () => void): void {
    this.ledger.onInvalidate(listener);
  }
  rehearse<R>(by: Actor, work: (change: Change) => Promise<unknown>, rehearsal: Rehearsal<R>): Promise<R> {
    return this.ledger.rehearse(by, work, rehearsal);
  }
  note(event: ActedEvent): Promise<void> | undefined {
    return this.ledger.note(event);
  }
  keptFor(db: Db, scope: string, now: number): Promise<IdempotencyKeyRow[]> {
    return this.ledger.keptFor(db, scope, now);
  }
  keptUpkeep(now: number): Promise<void> {
    return this.ledger.keptUpkeep(now);
  }
  foldLog(): Promise<void> {
    return this.ledger.foldLog();
  }
  close(): Promise<void> {
    return this.ledger.close();
  }
}
