import { z } from 'zod';
import { option, type Section } from '../../kernel/config.ts';
import { EVENT_TYPES } from '../../ledger/index.ts';

const type = z.string().refine((name) => Object.hasOwn(EVENT_TYPES, name), 'must be an event type');

/** Specification 6.2 and 8.4, contract 16. */
export const eventsConfig = {
  maxConnections: option.integer({
    default: 100,
    min: 1,
    max: 1_000_000,
    description:
      'Maximum number of open event streams of one instance; further ones get 503. When all are in use, a caller ' +
      'with at most half of them (an owner with all agents: three quarters) takes one from a caller with more. ' +
      'A caller with 10 or fewer never loses one.',
  }),
  heartbeatIntervalMs: option.integer({
    default: 30_000,
    min: 10,
    max: 3_600_000,
    description: 'Interval between heartbeats of a stream, in ms.',
  }),
  eventTypes: option.list({
    default: Object.keys(EVENT_TYPES),
    defaultText: 'all',
    item: type,
    description: 'Event types that streams can receive.',
  }),
  requireAuth: option.boolean({
    default: true,
    description: 'false: streams need no credential and show all events. Not for production.',
  }),
  retentionDays: option.integer({
    default: 30,
    min: 1,
    max: 36_500,
    description: 'Days after which events other than audit entries are deleted.',
  }),
} satisfies Section;
