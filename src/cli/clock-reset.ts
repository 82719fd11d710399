import { SYSTEM } from '../access/actor.ts';
import { isoTime } from '../kernel/clock.ts';
import type { Command } from './command.ts';
import { readSettings, useExistingData, withLegate } from './settings.ts';

/** `legate clock reset`: sets the time of the ledger back to the clock, also while the service runs. */
export const command: Command = {
  notes: `A clock that was ahead for a moment leaves the ledger's time ahead, since it never goes back by
itself: until then every entry has one timestamp, and agents, tokens and codes expire early.
After a reset, entries have earlier timestamps than some before them: a search by time may
miss entries near that place. The event ledger.clock_reset marks it.`,
  run: async () => {
    const settings = readSettings();
    useExistingData(settings);
    const reset = await withLegate(settings, ({ platform }) => platform.ledger.resetClock(SYSTEM));
    process.stdout.write(
      reset
        ? `the time of the ledger is set back from ${isoTime(reset.from)} to ${isoTime(reset.to)}\n`
        : 'the time of the ledger is not ahead of the clock: nothing to do\n',
    );
  },
};
