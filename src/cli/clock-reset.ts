import { SYSTEM } from '../access/actor.ts';
import { isoTime } from '../kernel/clock.ts';
import type { Command } from './command.ts';
import { readSettings, useExistingData, withLegate } from './settings.ts';

/** `legate clock reset`: sets the time of the ledger back to the clock, also while the service runs. */
export const command: Command = {
  notes: `If a clock was fast for a moment, the ledger's time stays ahead, because it never decreases by itself.
Until the clock catches up, all entries have the same timestamp, and agents, tokens and codes expire
early. Correct the clock first: a reset also sets back the end of sessions, codes, grants and pauses
that began after its present time.
After it, entries have earlier timestamps than some before them. A search by time finds entries of
the fast clock as recorded before the reset, which the event ledger.clock_reset marks.`,
  run: async () => {
    const settings = readSettings();
    useExistingData(settings);
    const reset = await withLegate(settings, ({ platform }) => platform.ledger.resetClock(SYSTEM));
    process.stdout.write(
      reset
        ? `set the time of the ledger back from ${isoTime(reset.from)} to ${isoTime(reset.to)}\n`
        : 'nothing to do: the time of the ledger is not ahead of the clock\n',
    );
  },
};
