import { DAY_MS, SECOND_MS } from '../../kernel/clock.ts';
import { option, type Section } from '../../kernel/config.ts';

/** Specification, section 8.4. */
export const multiSessionConfig = {
  maxSessions: option.integer({
    default: 0,
    max: 10_000,
    description: 'Maximum number of sessions of one user at a time. 0 means no limit.',
  }),
  overflow: option.oneOf(['evict-oldest', 'reject'], {
    default: 'evict-oldest',
    description:
      'Effect of a sign-in beyond maxSessions: evict-oldest ends the least recently used session, reject ' +
      'answers 429 SESSION_LIMIT_REACHED.',
  }),
  idleTtl: option.integer({
    default: (7 * DAY_MS) / SECOND_MS,
    min: 300,
    max: (365 * DAY_MS) / SECOND_MS,
    defaultText: '604800 (7 days)',
    description: 'Seconds after its last use until a session ends. Use is recorded once a minute.',
  }),
  absoluteTtl: option.integer({
    default: (30 * DAY_MS) / SECOND_MS,
    min: 300,
    max: (365 * DAY_MS) / SECOND_MS,
    defaultText: '2592000 (30 days)',
    description: 'Seconds after sign-in until a session ends in any case.',
  }),
  trackDevice: option.boolean({
    default: true,
    description: 'Store the User-Agent of a sign-in and show browser, operating system and type of device.',
  }),
  trackIp: option.boolean({ default: true, description: 'Store the client address of a sign-in and show it.' }),
} satisfies Section;
