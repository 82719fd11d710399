import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { isMap, isNode, isPair, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { isoInstant, text } from '../lib/json.ts';
import { AuthorizeBody, Permissions, REASONS } from '../permissions/index.ts';
import { UsageError } from './command.ts';

/** The fixtures could not be run: nothing is known about the decisions. */
export const EXIT_BAD_FIXTURES = 2;

const Name = text(64);
const Time = isoInstant;

const Policy = z.strictObject({
  agents: z.record(Name, z.strictObject({ permissions: Permissions.default([]), expiresAt: Time.optional() })),
  delegations: z
    .array(z.strictObject({ from: Name, to: Name, permissions: Permissions.min(1), expiresAt: Time.optional(), maxDepth: z.int().min(1).max(10).optional() }))
    .default([]),
});
export type Policy = z.output<typeof Policy>;

const { action, resource, arguments: args, context } = AuthorizeBody.shape;
const Expected = z.enum(['allowed', 'denied', ...(Object.keys(REASONS) as (keyof typeof REASONS)[])], 'must be allowed, denied, or the reason of a refusal such as NO_PERMISSION');

const Test = z.strictObject({
  name: text(200).optional(),
  agent: Name,
  action,
  resource,
  arguments: args,
  ip: context.unwrap().shape.ip,
  at: Time.optional(),
  after: z.int().min(0).max(10_000).optional(),
  expect: Expected,
});
export type FixtureTest = z.output<typeof Test>;

const Fixtures = z.strictObject({
  policy: text(1024).optional(),
  agents: Policy.shape.agents.optional(),
  delegations: Policy.shape.delegations,
  now: Time.optional(),
  tests: z.array(Test).min(1).max(10_000),
});

type Path = readonly (string | number)[];

/** A file as read, which knows on which line each of its fields stands. YAML 1.2, so JSON too. */
export class SourceFile {
  readonly path: string;
  readonly #doc: ReturnType<typeof parseDocument>;
  readonly #lines = new LineCounter();

  /** Throws when the file cannot be read or is neither YAML nor JSON. */
  constructor(path: string) {
    this.path = path;
    let content: string;
    try {
      content = readFileSync(path, 'utf8');
    } catch (error) {
      throw new UsageError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`, EXIT_BAD_FIXTURES);
    }
    this.#doc = parseDocument(content, { lineCounter: this.#lines, prettyErrors: false });
    const [error] = this.#doc.errors;
    if (error) throw new UsageError(`${path}:${this.#lines.linePos(error.pos[0]).line}: ${error.message}`, EXIT_BAD_FIXTURES);
  }

  /** What the file says, or one line for each field that is wrong. */
  read<S extends z.ZodType>(schema: S): z.output<S> {
    let value: unknown;
    try {
      value = this.#doc.toJS();
    } catch (error) {
      throw this.wrong([], (error as Error).message);
    }
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    const problems = result.error.issues.flatMap((issue) => {
      const path = issue.path as Path;
      return issue.code === 'unrecognized_keys' ? issue.keys.map((key) => this.wrong([...path, key], 'is not known')) : [this.wrong(path, issue.message)];
    });
    throw new UsageError(problems.map((problem) => problem.message).join('\n'), EXIT_BAD_FIXTURES);
  }

  /** What is wrong with a field, with its place. */
  wrong(path: Path, message: string): UsageError {
    return new UsageError(`${this.path}:${this.line(path)}: ${path.length > 0 ? `${path.join('.')}: ` : ''}${message}`, EXIT_BAD_FIXTURES);
  }

  /** Line of a field, or of what it is missing from. */
  line(path: Path): number {
    let at: unknown = this.#doc.contents;
    let offset = 0;
    for (const key of path) {
      const pair = isMap(at) ? at.items.find((item) => isScalar(item.key) && String(item.key.value) === String(key)) : undefined;
      const next = isSeq(at) ? at.items[Number(key)] : pair;
      const node = isPair(next) ? next.key : next;
      if (!isNode(node) || !node.range) break;
      offset = node.range[0];
      at = isPair(next) ? next.value : next;
    }
    return this.#lines.linePos(offset).line;
  }
}

export interface FixtureFile {
  readonly source: SourceFile;
  readonly tests: readonly FixtureTest[];
  /** The time of all tests that name none; undefined: that of the run. */
  readonly now: number | undefined;
  /** undefined: neither the file nor the caller names any agents. */
  readonly policy: { readonly source: SourceFile; readonly value: Policy } | undefined;
}

/** Reads fixtures, and the policy that they or the caller name. Throws {@link UsageError} that says field and line. */
export function readFixtures(path: string, policyPath: string | undefined): FixtureFile {
  const source = new SourceFile(path);
  const { policy: named, agents, delegations, tests, now } = source.read(Fixtures);
  if (agents && named !== undefined) throw source.wrong(['policy'], 'the agents are in this file: leave one of the two out');
  if (!agents && delegations.length > 0) throw source.wrong(['delegations'], 'there are no agents in this file');
  const elsewhere = policyPath ?? (named === undefined ? undefined : resolve(dirname(path), named));
  if (elsewhere !== undefined) {
    const policySource = new SourceFile(elsewhere);
    return { source, tests, now, policy: { source: policySource, value: policySource.read(Policy) } };
  }
  return { source, tests, now, policy: agents && { source, value: { agents, delegations } } };
}
