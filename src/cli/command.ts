import type { ParseArgsConfig } from 'node:util';

/** One command of the program: its options as `parseArgs` takes them, each with its meaning. */
export interface Command<Values = Record<string, unknown>> {
  readonly options?: Readonly<
    Record<
      string,
      NonNullable<ParseArgsConfig['options']>[string] & { readonly value?: string; readonly meaning: string }
    >
  >;
  /** The one positional argument: it is passed among the values, under this name. */
  readonly argument?: { readonly name: string; readonly meaning: string };
  /** Printed after the options by `--help`. */
  readonly notes?: string;
  /** Runs to its end. An error that it throws is printed and decides the exit code. */
  run(values: Values): Promise<void> | void;
}

/** An error that the person who runs the program can mend. */
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
