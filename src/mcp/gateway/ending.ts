/**
 * A signal that fires at most once: the end of a request, or of the wait for its answer. Cheaper than an
 * AbortController, of which each call would need several.
 */
export class Ending {
  #isEnded = false;
  readonly #listeners: (() => void)[] = [];

  /** Returns a signal that fires with the first of the given ones. */
  static any(others: readonly Ending[]): Ending {
    const first = new Ending();
    for (const other of others) other.onEnd(() => first.end());
    return first;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Calls `listener` when the signal fires, or immediately if it has fired. */
  onEnd(listener: () => void): void {
    if (this.#isEnded) listener();
    else this.#listeners.push(listener);
  }

  off(listener: () => void): void {
    const at = this.#listeners.indexOf(listener);
    if (at >= 0) this.#listeners.splice(at, 1);
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    for (const listener of this.#listeners.splice(0)) listener();
  }
}
