import { DAY_MS, SECOND_MS } from '../../kernel/clock.ts';
import { option, type Section } from '../../kernel/config.ts';

/** Specification, section 8.4. */
export const multiSessionConfig = {
  maxSessions: option.integer({
    default: 0,
    max: 10_000,
    description: 'Sessions that one user may have at a time. 0: any number.',
  }),
  overflow: option.oneOf(['evict-oldest', 'reject'], {
    default: 'evict-oldest',
    description:
      'A sign-in beyond maxSessions: evict-oldest ends the least recently used session, reject answers 429 SESSION_LIMIT_REACHED.',
  }),
  idleTtl: option.integer({
    default: (7 * DAY_MS) / SECOND_MS,
    min: 300,
    max: (365 * DAY_MS) / SECOND_MS,
    defaultText: '604800 (7 days)',
    description: 'Seconds after its last use when a session ends. Use is written down once a minute.',
  }),
  absoluteTtl: option.integer({
    default: (30 * DAY_MS) / SECOND_MS,
    min: 300,
    max: (365 * DAY_MS) / SECOND_MS,
    defaultText: '2592000 (30 days)',
    description: 'Seconds after sign-in when a session ends at the latest, used or not.',
  }),
  trackDevice: option.boolean({
    default: true,
    description: 'Keep the User-Agent of a sign-in and show browser, system and type of device.',
  }),
  trackIp: option.boolean({ default: true, description: 'Keep the client address of a sign-in and show it.' }),
} satisfies Section;
