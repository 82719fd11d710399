import { afterAll, afterEach } from 'vitest';
import { afterEachFile, afterEachTest } from './service.ts';

// Hooks belong to the file that runs when they are registered. Files share their modules, so this file, which runs before
// each of them, registers the hooks instead of the module that holds what is open.
afterEach(afterEachTest);
afterAll(afterEachFile);
