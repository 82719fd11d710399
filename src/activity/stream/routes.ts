import { z } from 'zod';
import { pageLinks } from '../../http/page.ts';
import { defineRoute } from '../../platform.ts';
import { withoutPlace } from '../audit/index.ts';
import { EventErrors } from './errors.ts';
import { listEvents } from './list-events.ts';
import { ListEvents, StreamEvent, StreamQuery, Ticket } from './schema.ts';
import { openStream } from './stream.ts';
import { mayFollow } from './subscriber.ts';
import { createTicket } from './ticket.ts';

/** Specification 4.7, contract 13. */
export const eventRoutes = [
  defineRoute({
    method: 'GET',
    path: '/events/stream',
    mount: 'base',
    summary: 'Stream events',
    description:
      'Server-Sent Events. Authorized by the Authorization header, the session cookie, a ticket or a token in the ' +
      'query; an invalid credential gets one `error` event. Last-Event-ID or `since` replays what was ' +
      'missed.',
    access: 'public',
    crossOrigin: true,
    noHead: true,
    query: StreamQuery,
    responses: { 200: { mediaTypes: ['text/event-stream'] }, 503: { mediaTypes: ['text/plain'] } },
    errors: [EventErrors.NOT_ACCEPTABLE],
    handle: (call, platform) => openStream(platform, call),
  }),
  defineRoute({
    method: 'POST',
    path: '/events/ticket',
    summary: 'Get a ticket for one event stream',
    description:
      'For browsers, whose EventSource sends no header: `?ticket=`, valid for one connection within a minute. After ' +
      'a disconnect, request another one and resume with `lastEventId`. The stream ends with the credential that ' +
      'requested the ticket, and after an hour if the application signed the user in.',
    access: mayFollow,
    effect: 'none',
    body: z.strictObject({}),
    bodyOptional: true,
    responses: { 200: Ticket },
    secrets: ['ticket'],
    handle: async (call, platform) => ({ status: 200, body: await createTicket(platform, call) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/events',
    summary: 'List events',
    description:
      'Newest first. A Link header with rel="next" and rel="prev" points to the neighbouring pages. Filters on ' +
      'decisions leave out other events.',
    access: mayFollow,
    query: ListEvents,
    longPages: true,
    responses: { 200: z.array(StreamEvent) },
    errors: [EventErrors.EVENT_NOT_FOUND],
    handle: async (call, platform) => {
      const { events, next, prev } = await listEvents(platform, call.visibility, call.query);
      return { status: 200, body: events, ...pageLinks(withoutPlace(call.url), { next, prev }) };
    },
  }),
];
