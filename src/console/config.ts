import { option, type Section } from '../kernel/config.ts';

export const consoleConfig = {
  enabled: option.boolean({ default: true, description: 'Serves the web console at /console.' }),
} satisfies Section;
