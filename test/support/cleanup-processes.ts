import { afterAll, afterEach } from 'vitest';
import { endFile, endTest } from './at-end.ts';

// Test files share modules; this file runs before each of them, so that its hooks belong to that test file.
afterEach(endTest);
afterAll(endFile);
