import type { ModuleState, Platform } from './platform.ts';

/** The states that the modules of one service keep in memory. */
export class ModuleStates {
  readonly #declared: ReadonlySet<ModuleState<unknown>>;
  readonly #created = new Map<ModuleState<unknown>, unknown>();
  readonly #platform: () => Platform;

  constructor(modules: readonly { readonly states?: readonly ModuleState<unknown>[] }[], platform: () => Platform) {
    this.#declared = new Set(modules.flatMap(({ states }) => states ?? []));
    this.#platform = platform;
  }

  /** Creates a state that the wiring itself needs before there is a platform. */
  set<S>(state: ModuleState<S>, value: S): void {
    this.#created.set(state, value);
  }

  /** Creates all states that are declared. One that reads another creates it first. */
  create(): void {
    for (const state of this.#declared) this.of(state);
  }

  /** Throws if no module declares the state. */
  of<S>(state: ModuleState<S>): S {
    const created = this.#created.get(state);
    if (created !== undefined) return created as S;
    if (!this.#declared.has(state)) throw new Error('A state was read that no module of modules.ts declares.');
    const fresh = state.create(this.#platform());
    this.#created.set(state, fresh);
    return fresh;
  }
}
