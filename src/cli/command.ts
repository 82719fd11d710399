import type { ParseArgsConfig } from 'node:util';

/** A command of the program. Options have the form that `parseArgs` takes, plus a description for `--help`. */
export interface Command<Values = Record<string, unknown>> {
  readonly options?: Readonly<
    Record<
      string,
      NonNullable<ParseArgsConfig['options']>[string] & { readonly value?: string; readonly meaning: string }
    >
  >;
  /**
   * The only positional argument. It is passed among the values, under this name; with `many`, all of them as a list.
   * With `afterDashes`, they are another command line, which has to follow `--`.
   */
  readonly argument?: {
    readonly name: string;
    readonly meaning: string;
    readonly many?: boolean;
    readonly afterDashes?: boolean;
  };
  /** Exit code of wrong usage and of unexpected errors, for a command whose exit codes have meanings of their own. */
  readonly failureCode?: number;
  /** Printed after the options by `--help`. */
  readonly notes?: string;
  /** Runs the command. An error is printed and determines the exit code. */
  run(values: Values): Promise<void> | void;
}

/** An error that the user of the command line can correct. */
export class UsageError extends Error {
  readonly exitCode: number;
  constructor(message: string, exitCode = 1) {
    super(message);
    this.name = 'UsageError';
    this.exitCode = exitCode;
  }
}

/** Exit codes from sysexits.h: wrong usage, wrong configuration. */
export const EXIT_USAGE = 64;
export const EXIT_CONFIG = 78;
