import { commaList } from '../kernel/query.ts';

const MAX_ID_LENGTH = 100;

/**
 * A comma list of ids, by default of any kind, in a query. Ids that do not exist or are not visible are absent from the
 * answer.
 */
export const idList = <T extends string = string>(max: number) =>
  commaList((id): id is T => id.length <= MAX_ID_LENGTH, {
    max,
    expected: `must be 1 to ${max} ids, separated by commas`,
    description: `Up to ${max} ids, separated by commas.`,
  });
