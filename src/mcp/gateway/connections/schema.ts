import { z } from 'zod';
import { isoTimestamp, text } from '../../../kernel/json.ts';
import { MAX_FIELDS } from './user-fields.ts';

const MAX_FIELD_CHARS = 8192;

/** Contract, section 20. It never contains the value of a secret. */
export const Connection = z
  .object({
    name: z.string().meta({ description: 'Name of the server in the path of its endpoint.', examples: ['issues'] }),
    type: z.enum(['userSecret', 'oauth']).meta({
      description: 'userSecret: the person enters the secrets in `fields`. oauth: the person signs in at the server.',
    }),
    fields: z
      .array(z.string())
      .meta({ description: 'Names of the secrets that the server needs; empty with `oauth`.' }),
    connected: z.boolean(),
    connectedAt: isoTimestamp.nullable().meta({ description: 'null: not connected.' }),
    connectUrl: z.string().meta({ description: 'Page on which the person connects.' }),
  })
  .meta({ id: 'GatewayConnection' });
export type Connection = z.output<typeof Connection>;

export const PutConnection = z
  .strictObject({
    fields: z
      .record(z.string().max(64), text(MAX_FIELD_CHARS))
      .refine((fields) => Object.keys(fields).length <= MAX_FIELDS, `must have at most ${MAX_FIELDS} members`)
      .meta({ description: 'A value for each secret that the server needs.', examples: [{ token: 'ghp_example' }] }),
  })
  .meta({ id: 'PutGatewayConnectionRequest' });

/** The form of the connect page: a text for each secret, or `disconnect`. */
export const ConnectForm = z.record(z.string().max(72), z.string().max(MAX_FIELD_CHARS)).meta({ id: 'ConnectForm' });

/** Authorization response (RFC 6749, section 4.1.2; RFC 9207, section 2). */
export const SignInAnswer = z.object({
  state: z.string().max(200).optional(),
  code: z.string().max(4096).optional(),
  iss: z.string().max(2000).optional(),
  error: z.string().max(200).optional(),
  error_description: z.string().max(20_000).optional(),
});

/** Client metadata (RFC 7591, section 2; client ID metadata documents). */
export const ClientDocument = z
  .object({
    client_id: z.string(),
    client_name: z.string(),
    client_uri: z.string(),
    redirect_uris: z.array(z.string()),
    grant_types: z.array(z.string()),
    response_types: z.array(z.string()),
    token_endpoint_auth_method: z.string(),
  })
  .meta({ id: 'GatewayClientMetadata' });
