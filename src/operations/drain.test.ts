import { describe, expect, it } from 'vitest';
import { createTestService } from '../../test/support/service.ts';

describe('drain', () => {
  it('immediately reports the service as not ready, notifies open streams, and still answers requests', async () => {
    const t = await createTestService();
    const alice = await t.user();
    const headers = { authorization: `Bearer ${alice.token}`, accept: 'text/event-stream' };
    const stream = await t.legate.fetch(
      new Request('http://localhost:3000/api/legate/events/stream?types=agent.created', { headers }),
    );
    const reader = (stream.body as ReadableStream<Uint8Array>).getReader();
    let text = '';
    const readUntil = async (part: string): Promise<void> => {
      while (!text.includes(part)) text += new TextDecoder().decode((await reader.read()).value);
    };
    await readUntil(': connected');
    expect((await t.call('GET', '/health/ready')).status).toBe(200);

    t.legate.drain();
    const ready = await t.call('GET', '/health/ready');
    expect([ready.status, ready.body.checks.instance, ready.headers.get('retry-after')]).toEqual([
      503,
      'draining',
      '1',
    ]);
    await readUntil('event: draining\ndata: {}\n\n');
    expect((await t.call('GET', '/health/live')).status).toBe(200);
    await t.agent(alice);
    await readUntil('event: agent.created');
    await reader.cancel();
  });
});
