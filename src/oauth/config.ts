import { z } from 'zod';
import { option, type Section } from '../kernel/config.ts';

const page = z
  .string()
  .refine(
    (value) =>
      /^[\x21-\x7e]+$/.test(value) &&
      (/^\/(?![/\\])/.test(value) || (/^https?:\/\//i.test(value) && URL.canParse(value))),
    'must be a path that begins with / or an http(s) address',
  );

/** Options of the authorization server, beside those of src/mcp under `mcp` (contract 16). */
export const oauthConfig = {
  accessTokenTtl: option.integer({
    default: 3600,
    min: 1,
    max: 86_400,
    description: 'Seconds for which an access token is good.',
  }),
  refreshTokenTtl: option.integer({
    default: 86_400,
    min: 1,
    max: 31_536_000,
    description: 'Seconds within which a refresh token has to be used.',
  }),
  grantMaxAge: option.integer({
    default: 7_776_000,
    min: 1,
    description: 'Seconds after which a person is asked again, however often tokens were refreshed.',
  }),
  reuseGraceSeconds: option.integer({
    default: 0,
    min: 0,
    max: 3600,
    description:
      'Seconds within which the refresh token just replaced gives the same successor again instead of ending the grant.',
  }),
  signing: option.oneOf(['HS256', 'EdDSA', 'ES256'], {
    default: 'HS256',
    description:
      'Algorithm of access tokens. HS256 is verified by this service alone; the others by whoever reads the published keys.',
  }),
  signingSecret: option.optionalString({
    secret: true,
    schema: z.string().min(32, 'must have at least 32 characters'),
    defaultText: 'a key in the data folder',
    description: 'What the keys of access tokens are made of. Instances of one service need the same.',
  }),
  registration: option.oneOf(['open', 'token', 'closed'], {
    default: 'open',
    description:
      'Who may register a client: anyone; whoever has mcp.registrationToken or is an admin; nobody but an admin by POST /oauth/clients.',
  }),
  registrationToken: option.optionalString({
    secret: true,
    schema: z.string().min(16, 'must have at least 16 characters'),
    description: 'Initial access token (RFC 7591, section 3).',
  }),
  unusedClients: option.integer({
    default: 10_000,
    min: 1,
    max: 1_000_000,
    description: 'Clients that registered themselves and were never used; beyond this many the oldest are deleted.',
  }),
  unusedClientDays: option.integer({
    default: 1,
    min: 1,
    description: 'Days after which a client that registered itself and was never used is forgotten.',
  }),
  clientMetadataDocuments: option.boolean({
    default: true,
    description: 'Accept an https address of a client ID metadata document as client_id.',
  }),
  allowPrivateNetworks: option.boolean({
    default: false,
    description: 'Fetch client ID metadata documents from private addresses and over http, too. For development.',
  }),
  loginPage: option.optionalString({
    schema: page,
    description:
      'Where people who are not signed in are sent instead of our own sign-in page: a path or address; `returnTo` is added.',
  }),
  consentPage: option.optionalString({
    schema: page,
    description:
      'Where people are asked instead of on our own page: a path or address; the parameters of the authorization request are added.',
  }),
  extraScopes: option.list({
    default: [],
    item: z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/, 'must be a scope of RFC 6749, section 3.3'),
    description: 'Further scopes that clients may ask for.',
  }),
  scopeActions: option.list({
    default: ['mcp:read=read', 'mcp:execute=execute'],
    item: z
      .string()
      .regex(
        /^[\x21\x23-\x3c\x3e-\x5b\x5d-\x7e]{1,100}=[^=]{1,128}$/,
        'must be a scope, an equals sign and an action, such as mcp:read=read',
      ),
    description:
      'What a granted scope permits the agent: `scope=action`, on the tools of the MCP server that the token is for, or of all servers when it is for our own resource. `*` is every action; a scope may stand there several times.',
  }),
} satisfies Section;
