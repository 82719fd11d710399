import { text } from '../kernel/json.ts';

const MAX_ID_LENGTH = 100;

/** A comma list of ids in a query. Ids that name nothing visible are simply absent from the answer. */
export const idList = (max: number) =>
  text(max * 40)
    .transform((list) => [...new Set(list.split(','))].filter((id) => id !== ''))
    .refine((ids) => ids.length >= 1 && ids.length <= max && ids.every((id) => id.length <= MAX_ID_LENGTH), {
      message: `must be 1 to ${max} ids, separated by commas`,
    })
    .meta({ description: `Up to ${max} ids, separated by commas.`, type: 'string' });
