/** The steps of the way from a refusal to a call, in order. */
export const STEPS = {
  reach: 'The server refuses a call without a token (401)',
  challenge: 'The challenge says where to go',
  'resource metadata': 'The resource says who issues tokens for it',
  'issuer metadata': 'The issuer describes itself',
  registration: 'A client can register',
  authorize: 'A person can allow it',
  token: 'The code buys a token',
  call: 'The token opens the server',
} as const;
export type StepName = keyof typeof STEPS;

/** Something that is not as it should be. */
export interface Finding {
  /** The field, header or parameter. */
  readonly field: string;
  /** What is there and what should be. */
  readonly problem: string;
  /** Where it is said. */
  readonly source: string;
  /** advice: clients get by, or some of them do. */
  readonly level: 'broken' | 'advice';
}

export interface StepReport {
  readonly step: StepName;
  readonly outcome: 'fine' | 'broken' | 'skipped';
  /** What was seen; for a skipped step why. */
  readonly seen: string;
  readonly findings: readonly Finding[];
}

/** Collects the findings of one step. */
export class Findings {
  readonly all: Finding[] = [];

  broken(field: string, problem: string, source: string): void {
    this.all.push({ field, problem, source, level: 'broken' });
  }

  advice(field: string, problem: string, source: string): void {
    this.all.push({ field, problem, source, level: 'advice' });
  }

  get isBroken(): boolean {
    return this.all.some((finding) => finding.level === 'broken');
  }

  report(step: StepName, seen: string): StepReport {
    return { step, outcome: this.isBroken ? 'broken' : 'fine', seen, findings: this.all };
  }
}

/** A value as it is shown: JSON, and not too long. */
export function shown(value: unknown): string {
  const text = value === undefined ? 'missing' : JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/** One step as text, with a tick, a cross or a dash. */
export function renderStep({ step, outcome, seen, findings }: StepReport): string {
  const mark = { fine: '✓', broken: '✗', skipped: '–' }[outcome];
  const lines = [`${mark} ${step.padEnd(17)}  ${STEPS[step]}`, ...(seen === '' ? [] : [`    ${seen}`])];
  for (const { field, problem, source, level } of findings)
    lines.push(`    ${level === 'broken' ? '✗' : '!'} ${field}: ${problem} (${source})`);
  return lines.join('\n');
}
