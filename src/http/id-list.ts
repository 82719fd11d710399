import { text } from '../kernel/json.ts';

const MAX_ID_LENGTH = 100;

/**
 * A comma list of ids, by default of any kind, in a query. Ids that do not exist or are not visible are absent from the
 * answer.
 */
export const idList = <T extends string = string>(max: number) =>
  text(max * 40)
    .transform((list) => [...new Set(list.split(','))].filter((id) => id !== '') as T[])
    .refine((ids) => ids.length >= 1 && ids.length <= max && ids.every((id) => id.length <= MAX_ID_LENGTH), {
      message: `must be 1 to ${max} ids, separated by commas`,
    })
    .meta({ description: `Up to ${max} ids, separated by commas.`, type: 'string' });
