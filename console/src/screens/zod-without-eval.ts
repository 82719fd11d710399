import { config } from 'zod';

// The policy of the page forbids code from text. Modules with schemas are loaded after this one.
config({ jitless: true });
