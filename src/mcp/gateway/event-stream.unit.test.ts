import { expect, it } from 'vitest';
import { EventStream } from './event-stream.ts';

const MB = 1024 * 1024;

/** Returns what a reader gets who begins after these messages. */
async function readLate(messages: readonly string[]): Promise<{ bytes: number; isEnded: boolean }> {
  let isEnded = false;
  const stream = new EventStream(() => {
    isEnded = true;
  });
  for (const message of messages) stream.send(message);
  const endedBefore = isEnded;
  stream.end();
  return { bytes: (await new Response(stream.body).arrayBuffer()).byteLength, isEnded: endedBefore };
}

it('keeps a few megabytes for a slow reader, and ends with the next message', async () => {
  const { bytes, isEnded } = await readLate(Array.from({ length: 100 }, () => 'x'.repeat(MB)));
  expect(isEnded).toBe(true);
  expect(bytes).toBeGreaterThan(4 * MB);
  expect(bytes).toBeLessThan(6 * MB);
});

it('keeps thousands of small messages', async () => {
  const { bytes, isEnded } = await readLate(Array.from({ length: 5000 }, () => 'x'.repeat(100)));
  expect(isEnded).toBe(false);
  expect(bytes).toBeGreaterThan(5000 * 100);
});

it('delivers one message of any size', async () => {
  expect((await readLate(['x'.repeat(10 * MB)])).bytes).toBeGreaterThan(10 * MB);
});
