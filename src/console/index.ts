import { defineModule } from '../platform.ts';
import { consoleRoutes } from './routes.ts';

/**
 * Serves the web console: a page that loads the built program of `console/`, and its files.
 *
 * Guarantees: only signed-in people get the page; the policy of the page runs no script but the built files, allows no
 * inline style, and requires Trusted Types. The console itself uses the public API alone.
 *
 * The sources of the program are in `console/`, outside of `src/`.
 */
export const webConsole = defineModule({
  name: 'console',
  description: 'The web console.',
  routes: consoleRoutes,
});
