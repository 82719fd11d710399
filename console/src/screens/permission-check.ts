import './zod-without-eval.ts';
import { Permissions } from '../../../src/authorization/permissions/schema.ts';

// The same schema reads the permissions in files of tests.
export { isExpected, readFixtures } from './fixture-read.ts';

export interface Problem {
  /** Number of the permission; undefined: of the list as a whole. */
  readonly entry?: number;
  /** Name of the field, such as `resource` or `ipAllowlist`. */
  readonly field?: string;
  readonly text: string;
}

/** Returns what the service would refuse, by its own schema. */
export function problemsOf(value: unknown): Problem[] {
  const { error } = Permissions.safeParse(value);
  return (error?.issues ?? []).map(({ path, message }) => {
    const [entry, ...rest] = path;
    const names = rest.filter((part) => typeof part === 'string' && part !== 'constraints');
    return {
      ...(typeof entry === 'number' && { entry }),
      ...(names[0] !== undefined && { field: String(names[0]) }),
      text: rest.length > 0 ? `${rest.join('.')}: ${message}` : message,
    };
  });
}
