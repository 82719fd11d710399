import { chunk } from '../../kernel/chunk.ts';
import type { Id } from '../../kernel/ids.ts';
import { InProgress } from '../../kernel/in-progress.ts';
import type { Question } from '../guard/asks.ts';
import type { Passed } from '../guard/guard.ts';
import { agentOf } from './caller-of.ts';

const CHECK_MS = 500;
/** Requests that are checked at the same time. Their decisions share the queries of a batch. */
const AT_ONCE = 100;

interface Work {
  readonly kind: 'stream' | 'request';
  readonly person: string | undefined;
  readonly agent: Id<'agent'> | undefined;
  readonly alive: (() => Promise<boolean>) | undefined;
  readonly begunAt: number;
  readonly end: () => void;
}

/** Streams and requests of clients, which end within a second after the token of the client was revoked. */
export class InForce {
  readonly #works = new InProgress<Work>();
  #lastNumber = 0;
  #timer: NodeJS.Timeout | undefined;
  #isChecking = false;

  /**
   * Returns a function that is to be called at the end of the work. With a question, the work also ends when the answer
   * to it is no longer yes.
   */
  add(kind: Work['kind'], { auth, rules }: Passed, end: () => void, question?: Question): () => void {
    const isPermitted = async (): Promise<boolean> =>
      !question || (await rules?.permitted?.([question]))?.[0] !== false;
    const alive = rules?.alive && (async () => (await rules.alive()) && (await isPermitted()));
    const number = ++this.#lastNumber;
    const [person, agent] = [auth?.userId, auth && agentOf(auth)];
    this.#works.set(number, { kind, person, agent, alive, begunAt: performance.now(), end });
    this.#timer ??= setInterval(() => void this.#checkOnce(), CHECK_MS).unref();
    return () => this.#works.delete(number);
  }

  get #streams(): Work[] {
    return this.#works.values().filter(({ kind }) => kind === 'stream');
  }

  /** The people who have streams. */
  people(): string[] {
    return this.#streams.flatMap(({ person }) => person ?? []);
  }

  /** Ends the streams of a person, or all. Requests end with their connection to the server. */
  endStreams(person?: string): void {
    for (const stream of this.#streams) if (person === undefined || stream.person === person) stream.end();
  }

  /** Ends those streams and requests of an agent whose tokens are no longer valid. */
  async endRevoked(agent: Id<'agent'>): Promise<void> {
    await endThoseRevoked(this.#works.values().filter((work) => work.agent === agent));
  }

  stop(): void {
    clearInterval(this.#timer);
    this.endStreams();
  }

  async #checkOnce(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    await this.#check().finally(() => {
      this.#isChecking = false;
    });
  }

  async #check(): Promise<void> {
    const works = this.#works.values();
    if (works.length === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    const before = performance.now() - CHECK_MS;
    // The token of a request that takes less time was valid when it was decided.
    await endThoseRevoked(works.filter(({ begunAt }) => begunAt <= before));
  }
}

/**
 * Ends requests first: a request of the server that waits on the stream of a request would otherwise be answered, and
 * the server would continue with the call instead of cancelling it.
 */
async function endThoseRevoked(works: readonly Work[]): Promise<void> {
  for (const some of chunk(
    works.filter(({ kind }) => kind === 'request'),
    AT_ONCE,
  ))
    await Promise.all(some.map(endIfRevoked));
  // The stream of a request receives its last answer first.
  await new Promise(setImmediate);
  for (const work of works) if (work.kind === 'stream') await endIfRevoked(work);
}

async function endIfRevoked({ alive, end }: Work): Promise<void> {
  if (alive && !(await alive().catch(() => true))) end();
}
