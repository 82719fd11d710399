import {
  type KyselyPlugin,
  OperationNodeTransformer,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  type QueryResult,
  type RootOperationNode,
  type SchemableIdentifierNode,
  type UnknownRow,
} from 'kysely';
import { TABLE_NAMES } from './tables.ts';

const TABLES: ReadonlySet<string> = new Set(TABLE_NAMES);

/** Adds the prefix to every table of the service when a query is compiled. */
class PrefixTransformer extends OperationNodeTransformer {
  readonly #prefix: string;
  constructor(prefix: string) {
    super();
    this.#prefix = prefix;
  }
  protected override transformSchemableIdentifier(node: SchemableIdentifierNode): SchemableIdentifierNode {
    const next = super.transformSchemableIdentifier(node);
    if (!TABLES.has(next.identifier.name)) return next;
    return { ...next, identifier: { ...next.identifier, name: this.#prefix + next.identifier.name } };
  }
}

export class TablePrefixPlugin implements KyselyPlugin {
  readonly #transformer: PrefixTransformer;
  constructor(prefix: string) {
    this.#transformer = new PrefixTransformer(prefix);
  }
  transformQuery(args: PluginTransformQueryArgs): RootOperationNode {
    return this.#transformer.transformNode(args.node);
  }
  transformResult(args: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    return Promise.resolve(args.result);
  }
}
