import { z } from 'zod';
import { parseAddressRange } from '../kernel/address-range.ts';
import { option, type Section } from '../kernel/config.ts';

const path = z
  .string()
  .regex(/^\/([A-Za-z0-9._~-]+(\/[A-Za-z0-9._~-]+)*)?$/, 'must be a path such as /api, without a slash at the end');

/** An origin in the notation of browsers. Any other would never match. */
const origin = z
  .string()
  .refine(
    (text) => URL.canParse(text) && new URL(text).origin === text,
    'must be an origin such as https://app.example.com, without a path or a slash at the end',
  );

export const httpConfig = {
  port: option.integer({ default: 3000, max: 65_535, env: 'PORT', description: 'TCP port. 0 selects a free one.' }),
  host: option.string({ default: '127.0.0.1', env: 'HOST', description: 'Address to listen on.' }),
  restPath: option.string({ default: '/', schema: path, description: 'Path of the REST endpoints.' }),
  basePath: option.string({
    default: (c) => `/api/${c.serviceName}`,
    defaultText: '/api/<service.name>',
    schema: path,
    description: 'Path of the OAuth, MCP and stream endpoints.',
  }),
  trustedProxies: option.list({
    default: [],
    item: z.string().refine((item) => parseAddressRange(item) !== undefined, 'must be an address or a CIDR range'),
    description: 'Addresses or CIDR ranges of proxies whose X-Forwarded-For is trusted.',
  }),
  clientAddressHeader: option.optionalString({
    schema: z
      .string()
      .regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a header, such as x-real-ip')
      .transform((name) => name.toLowerCase()),
    description:
      'Header from which an embedded service takes the client address if `fetch` is called without the address of ' +
      'the connection, as in Next.js. Of a list the last entry counts. Set it only if every request passes a proxy ' +
      'that sets this header itself.',
  }),
  trustedOrigins: option.list({
    default: [],
    item: origin,
    description:
      'Other origins whose pages may call the API, with the session cookie too (CORS), and to which links may ' +
      'redirect.',
  }),
  bodyLimit: option.integer({ default: 1_048_576, min: 1024, description: 'Largest request body in bytes.' }),
} satisfies Section;
