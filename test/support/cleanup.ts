import { afterAll, afterEach } from 'vitest';
import { afterEachFile, afterEachTest } from './service.ts';
import { commitUnsynced } from './unsynced.ts';

commitUnsynced();

// Hooks belong to the test file that runs when they are registered. Test files share modules, so this file, which runs
// before each of them, registers the hooks instead of the module with the open resources.
afterEach(afterEachTest);
afterAll(afterEachFile);
