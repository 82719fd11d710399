import { config } from 'zod';

// The content security policy of the page forbids eval. Modules with schemas are loaded after this one.
config({ jitless: true });
