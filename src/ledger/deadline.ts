import type { KyselyPlugin, PluginTransformQueryArgs, PluginTransformResultArgs } from 'kysely';
import { CommonErrors } from '../kernel/errors.ts';

/** Refuses statements after a deadline, so that a transaction ends soon after it. */
export class Deadline implements KyselyPlugin {
  readonly #end: number;

  constructor(ms: number) {
    this.#end = performance.now() + ms;
  }

  transformQuery({ node }: PluginTransformQueryArgs): PluginTransformQueryArgs['node'] {
    if (performance.now() > this.#end) throw CommonErrors.PREVIEW_TIMED_OUT();
    return node;
  }

  async transformResult({ result }: PluginTransformResultArgs): Promise<PluginTransformResultArgs['result']> {
    return result;
  }
}
