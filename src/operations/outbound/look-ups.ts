import { registrableDomain } from './registrable-domain.ts';

interface Limits {
  readonly atOnce: number;
  /** Maximum of these per registrable domain, so that one owner's names cannot use them all. */
  readonly perDomain: number;
  readonly waiting: number;
}

/** Limits concurrent look-ups. Further ones wait in a bounded queue. */
export class LookUps {
  readonly #limits: Limits;
  readonly #byDomain = new Map<string, number>();
  readonly #waiting: { readonly domain: string; readonly go: () => void }[] = [];
  #running = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Throws if the queue is full. */
  async run<T>(hostname: string, work: () => Promise<T>): Promise<T> {
    const domain = registrableDomain(hostname);
    if (!this.#hasRoom(domain)) {
      if (this.#waiting.length >= this.#limits.waiting) throw new Error('too many look-ups are waiting');
      await new Promise<void>((go) => this.#waiting.push({ domain, go }));
    } else this.#take(domain);
    try {
      return await work();
    } finally {
      this.#leave(domain);
    }
  }

  #hasRoom(domain: string): boolean {
    const { atOnce, perDomain } = this.#limits;
    return this.#running < atOnce && (this.#byDomain.get(domain) ?? 0) < perDomain;
  }

  #take(domain: string): void {
    this.#running++;
    this.#byDomain.set(domain, (this.#byDomain.get(domain) ?? 0) + 1);
  }

  #leave(domain: string): void {
    this.#running--;
    const left = (this.#byDomain.get(domain) ?? 1) - 1;
    if (left === 0) this.#byDomain.delete(domain);
    else this.#byDomain.set(domain, left);
    const next = this.#waiting.findIndex((each) => this.#hasRoom(each.domain));
    if (next < 0) return;
    const [each] = this.#waiting.splice(next, 1);
    this.#take(each?.domain ?? '');
    each?.go();
  }
}
