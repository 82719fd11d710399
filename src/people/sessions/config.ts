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
  trackDevice: option.boolean({
    default: true,
    description: 'Keep the User-Agent of a sign-in and show browser, system and type of device.',
  }),
  trackIp: option.boolean({ default: true, description: 'Keep the client address of a sign-in and show it.' }),
} satisfies Section;
