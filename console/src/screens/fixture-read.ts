import './zod-without-eval.ts';
import { Fixtures } from '../../../src/authorization/permissions/fixtures.ts';

export { isExpected } from '../../../src/authorization/permissions/fixtures.ts';

export type FixtureFile = ReturnType<typeof Fixtures.parse>;

export interface Read {
  readonly file?: FixtureFile;
  readonly problems: readonly string[];
}

/**
 * Parses a file of `legate test` (docs/fixtures.md), JSON or YAML. The parser for YAML is loaded only if it is needed.
 */
export async function readFixtures(text: string): Promise<Read> {
  let value: unknown;
  try {
    value = /^\s*\{/.test(text) ? JSON.parse(text) : (await import('./yaml.ts')).parse(text);
  } catch (error) {
    return { problems: [(error as Error).message.split('\n')[0] ?? ''] };
  }
  const { data, error } = Fixtures.safeParse(value);
  if (data) return { file: data, problems: [] };
  return {
    problems: error.issues
      .slice(0, 5)
      .flatMap((issue) =>
        issue.code === 'unrecognized_keys'
          ? issue.keys.map((key) => `${[...issue.path, key].join('.')}: unknown field`)
          : [`${issue.path.length > 0 ? `${issue.path.join('.')}: ` : ''}${issue.message}`],
      ),
  };
}
