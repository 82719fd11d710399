import type { Budget } from 'legate/client';
import { t } from '../texts/index.ts';

/** What a budget counts: a currency, tokens or calls. */
export const unitOf = ({ currency, metric }: Budget): string => currency ?? t.metrics[metric as 'calls'];
