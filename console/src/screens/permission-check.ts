import './zod-without-eval.ts';
import { Permissions } from '../../../src/authorization/permissions/schema.ts';

// Permissions in test files are parsed with the same schema.
export { isExpected, readFixtures } from './fixture-read.ts';

export interface Problem {
  /** The number of the permission; undefined for an error of the list as a whole. */
  readonly entry?: number;
  /** Name of the field, such as `resource` or `ipAllowlist`. */
  readonly field?: string;
  readonly text: string;
}

/** Returns the errors for which the service would refuse the permissions, found with its own schema. */
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
