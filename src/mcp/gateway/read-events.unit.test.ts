import { expect, it } from 'vitest';
import { cpuTimer } from '../../../test/support/cpu.ts';
import { OutcomeUnknown } from './peer.ts';
import { readEvents } from './read-events.ts';
import type { BodyReader, ServerAnswer } from './server-answer.ts';

/** Reads a stream that arrives in these pieces. Returns the data of its events. */
async function eventsOf(pieces: Iterable<string>, maxChars = 1e7): Promise<string[]> {
  const found: string[] = [];
  let reader: BodyReader | undefined;
  const answer = {
    isOf: (type: string) => type === 'text/event-stream',
    read: (given: BodyReader) => {
      reader = given;
    },
    discard: () => {},
    close: () => {},
  } as unknown as ServerAnswer;
  const reading = readEvents(answer, maxChars, ({ data }) => {
    found.push(data);
    return data === 'last';
  });
  for (const piece of pieces) reader?.data(Buffer.from(piece));
  reader?.end();
  await reading;
  return found;
}

const EVENTS = 'data: one\n\ndata: two\r\n\r\nevent: x\r\ndata: a\r\ndata: b\r\n\r\ndata: last\n\ndata: after\n\n';

it.each([1, 2, 3, 5, 7, EVENTS.length])('events are found in pieces of %i characters', async (size) => {
  const pieces = EVENTS.match(new RegExp(`[^]{1,${size}}`, 'g')) as string[];
  expect(await eventsOf(pieces)).toEqual(['one', 'two', 'a\nb', 'last']);
});

it('an event without an end is refused as soon as it is too long, however long the events before it were', async () => {
  const events = ['data: 12345678\n\n', 'data: 12345678\n\n'];
  expect(await eventsOf(events, 20)).toHaveLength(2);
  await expect(eventsOf([...events, 'data: 1234567', '89012345'], 20)).rejects.toThrow(OutcomeUnknown);
});

it('a long event in small pieces takes work in proportion to its length', async () => {
  const took = cpuTimer();
  const [event] = await eventsOf(['data: ', ...Array(200_000).fill('x'.repeat(10)), '\n\n']);
  expect(event).toHaveLength(2_000_000);
  expect(took()).toBeLessThan(3000);
});
