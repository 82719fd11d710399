import { registrableDomain } from './registrable-domain.ts';

interface Limits {
  readonly atOnce: number;
  /** Of the look-ups at once, so that the names of one owner cannot take all places. */
  readonly perDomain: number;
  readonly waiting: number;
}

/** Lets a few look-ups run at once; the others wait, and there is an end to that as well. */
export class LookUps {
  readonly #limits: Limits;
  readonly #byDomain = new Map<string, number>();
  readonly #waiting: { readonly domain: string; readonly go: () => void }[] = [];
  #running = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Throws when too many wait already. */
  async run<T>(hostname: string, work: () => Promise<T>): Promise<T> {
    const domain = registrableDomain(hostname);
    if (!this.#hasRoom(domain)) {
      if (this.#waiting.length >= this.#limits.waiting) throw new Error('too many names are being looked up');
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
