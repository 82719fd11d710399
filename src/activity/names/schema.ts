import { z } from 'zod';
import { idList } from '../../http/id-list.ts';

export const MAX_NAMES = 300;

export const NamesQuery = z.strictObject({ ids: idList(MAX_NAMES) });

export const Named = z
  .object({
    id: z.string(),
    kind: z.string().meta({ description: 'Kind of the id, such as `agent`.' }),
    name: z.string().meta({ description: 'For display. Not unique, and chosen by others.' }),
  })
  .meta({ id: 'Named' });
export type Named = z.output<typeof Named>;
