import type { AuthorizeAnswer } from '../permissions/index.ts';
import type { FixtureFile, FixtureTest } from './fixture-file.ts';

/** A decision, and the names of the agents and delegations in it. */
export interface Decided extends AuthorizeAnswer {
  readonly nameOf: (id: string) => string;
}

const fits = (test: FixtureTest, { allowed, reason }: Decided): boolean => (allowed ? test.expect === 'allowed' : test.expect === 'denied' || test.expect === reason);

/** What differs, as a text for people and the number of differences. */
export function compareFixtures(file: FixtureFile, decided: readonly Decided[]): { readonly text: string; readonly differences: number } {
  const parts: string[] = [];
  for (const [i, test] of file.tests.entries()) {
    const answer = decided[i] as Decided;
    if (fits(test, answer)) continue;
    const question = `${test.agent} ${test.action} ${test.resource}`;
    parts.push(
      [
        `${file.source.path}:${file.source.line(['tests', i])}: ${test.name ?? question}`,
        ...(test.name ? [`    ${question}`] : []),
        `  - ${test.expect}`,
        `  + ${answer.allowed ? 'allowed' : answer.reason}${why(answer)}`,
      ].join('\n'),
    );
  }
  const count = `${file.tests.length} decision${file.tests.length === 1 ? '' : 's'}`;
  const differences = parts.length;
  const summary = differences === 0 ? `${file.source.path}: ${count} as expected.` : `${file.source.path}: ${differences} of ${count} ${differences === 1 ? 'differs' : 'differ'}.`;
  return { text: [...parts, summary].join('\n\n'), differences };
}

/** The entry that allowed, or the one that came closest. */
function why({ allowed, trace, nameOf }: Decided): string {
  const by = trace?.entries.find((entry) => (allowed ? entry.outcome === 'allowed' : entry.index === trace.nearest?.index));
  if (!by) return '';
  const from = by.source.type === 'delegation' ? `, from ${nameOf(by.source.fromAgent)}` : '';
  const entry = `${by.actions.join(',')} ${by.resource}${from}`;
  return allowed ? `  (by ${entry})` : `  (nearest: ${entry}; ${lack(by.outcome)})`;
}

const lack = (outcome: string): string => outcome.replaceAll('-', ' ');
