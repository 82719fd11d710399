/** The steps from a refused call to an allowed one, in order. */
export const STEPS = {
  reach: 'The server refuses a call without a token (401)',
  challenge: 'The challenge names the metadata',
  'resource metadata': 'The resource names its issuer',
  'issuer metadata': 'The issuer publishes its endpoints',
  registration: 'A client can register',
  authorize: 'A person can allow access',
  token: 'The code is exchanged for a token',
  call: 'The server accepts the token',
} as const;
export type StepName = keyof typeof STEPS;

/** A deviation from what clients need. */
export interface Finding {
  /** The field, header or parameter. */
  readonly field: string;
  /** The finding and the requirement. */
  readonly problem: string;
  /** The document and section that require it. */
  readonly source: string;
  /** `advice`: at least some clients work without it. */
  readonly level: 'broken' | 'advice';
}

export interface StepReport {
  readonly step: StepName;
  readonly outcome: 'fine' | 'broken' | 'skipped';
  /** The finding, or the reason why the step was skipped. */
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

/** Renders a value as JSON of at most 200 characters. */
export function shown(value: unknown): string {
  const text = value === undefined ? 'missing' : JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/** Renders one step as text, with a tick, a cross or a dash. */
export function renderStep({ step, outcome, seen, findings }: StepReport): string {
  const mark = { fine: '✓', broken: '✗', skipped: '–' }[outcome];
  const lines = [`${mark} ${step.padEnd(17)}  ${STEPS[step]}`, ...(seen === '' ? [] : [`    ${seen}`])];
  for (const { field, problem, source, level } of findings)
    lines.push(`    ${level === 'broken' ? '✗' : '!'} ${field}: ${problem} (${source})`);
  return lines.join('\n');
}
