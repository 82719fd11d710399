import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy that fails on command. */
export interface FaultyProxy {
  readonly port: number;
  /** Keeps and accepts connections and forwards nothing, like a network that drops packets. */
  freeze(): void;
  /** Delays everything by this many milliseconds in each direction. */
  slow(ms: number): void;
  /** Breaks every connection. New ones are accepted. */
  cut(): void;
  /** Ends `freeze` and `slow`. Delayed data arrives. */
  mend(): void;
  close(): Promise<void>;
}

export async function proxyTo(port: number): Promise<FaultyProxy> {
  const open = new Set<Socket>();
  let frozen = false;
  let delayMs = 0;
  const forward = (from: Socket, to: Socket): void => {
    // Chunks leave in the order of their arrival, whatever happens to the delay.
    let turn = Promise.resolve();
    from.on('data', (chunk: Buffer) => {
      const due = performance.now() + delayMs;
      turn = turn.then(async () => {
        const left = due - performance.now();
        if (left > 0) await new Promise((resolve) => setTimeout(resolve, left));
        if (!to.destroyed) to.write(chunk);
      });
    });
  };
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ port, host: '127.0.0.1', noDelay: true });
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        open.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    forward(near, far);
    forward(far, near);
    if (frozen) for (const socket of [near, far]) socket.pause();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    freeze: () => {
      frozen = true;
      for (const socket of open) socket.pause();
    },
    slow: (ms) => {
      delayMs = ms;
    },
    cut: () => {
      for (const socket of open) socket.destroy();
    },
    mend: () => {
      frozen = false;
      delayMs = 0;
      for (const socket of open) socket.resume();
    },
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
