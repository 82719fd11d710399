import type { ParseArgsConfig } from 'node:util';

/** One command of the program: its options as `parseArgs` takes them, each with its meaning. */
export interface Command<Values = Record<string, unknown>> {
  readonly options?: Readonly<
    Record<
      string,
      NonNullable<ParseArgsConfig['options']>[string] & { readonly value?: string; readonly meaning: string }
    >
  >;
  /** The one word that is no option: it comes among the values, under this name. */
  readonly argument?: { readonly name: string; readonly meaning: string };
  /** Runs to its end. What it throws is shown to the person and decides the exit code. */
  run(values: Values): Promise<void> | void;
}

/** Something that the person who called the program can mend. */
export class UsageError extends Error {
  readonly exitCode: number;
  constructor(message: string, exitCode = 1) {
    super(message);
    this.name = 'UsageError';
    this.exitCode = exitCode;
  }
}

/** sysexits.h: the command was used wrongly; something is configured wrongly. */
export const EXIT_USAGE = 64;
export const EXIT_CONFIG = 78;
