import { mountRoutes } from '../http/app.ts';
import { describeApi, describedRoutes } from '../http/openapi.ts';
import { modules } from '../modules.ts';
import { EXAMPLES } from '../operations/index.ts';
import type { Command } from './command.ts';
import { readSettings } from './settings.ts';

/** `legate openapi`: prints the document of GET /openapi.json. */
export const command: Command = {
  run: () => {
    const { values } = readSettings();
    const document = describeApi(
      describedRoutes(mountRoutes(modules, values)),
      { config: values, baseUrl: values.baseUrl ?? `http://localhost:${values.http.port}` },
      EXAMPLES,
    );
    process.stdout.write(`${JSON.stringify(document, null, 2)}\n`);
  },
};
