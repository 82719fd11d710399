export interface Edge {
  readonly from: string;
  readonly to: string;
}

export interface Folded {
  /** The nodes that are drawn, those nearest to the roots first. */
  readonly shown: ReadonlySet<string>;
  /** The number of followers of each node that is drawn, whether they are drawn or not. */
  readonly followers: ReadonlyMap<string, number>;
  /** The nodes whose followers are drawn. */
  readonly open: ReadonlySet<string>;
}

/**
 * Chooses which nodes of a graph are drawn. Starting with the roots, followers are drawn as long as there are at most
 * `limit` nodes; the reader expands and collapses others.
 * @param ids all nodes; those without an incoming link are the roots
 * @param chosen the nodes that the reader has expanded (true) or collapsed
 */
export function foldGraph(
  ids: readonly string[],
  edges: readonly Edge[],
  limit: number,
  chosen: ReadonlyMap<string, boolean> = new Map(),
): Folded {
  const after = new Map<string, Set<string>>();
  const led = new Set<string>();
  for (const { from, to } of edges) {
    const followers = after.get(from) ?? new Set();
    after.set(from, followers.add(to));
    led.add(to);
  }
  const free = walk(ids, led, after, limit, () => undefined).open;
  const { shown, open } = walk(ids, led, after, limit, (id) => chosen.get(id) ?? free.has(id));
  return {
    shown,
    open,
    followers: new Map([...shown].flatMap((id) => (after.has(id) ? [[id, after.get(id)?.size ?? 0]] : []))),
  };
}

/** Proceeds breadth first. `opens` says whether a node is expanded; undefined means if there is room. */
function walk(
  ids: readonly string[],
  led: ReadonlySet<string>,
  after: ReadonlyMap<string, ReadonlySet<string>>,
  limit: number,
  opens: (id: string) => boolean | undefined,
): { readonly shown: Set<string>; readonly open: Set<string> } {
  const shown = new Set(ids.filter((id) => !led.has(id)).slice(0, limit));
  const open = new Set<string>();
  // The loop also visits elements that are added to the set during it.
  for (const id of shown) {
    const fresh = [...(after.get(id) ?? [])].filter((next) => !shown.has(next));
    if (opens(id) ?? shown.size + fresh.length <= limit) {
      open.add(id);
      for (const next of fresh) shown.add(next);
    }
  }
  return { shown, open };
}
