import { z } from 'zod';
import { option, type Section } from '../kernel/config.ts';

const page = z
  .string()
  .refine(
    (value) =>
      /^[\x21-\x7e]+$/.test(value) &&
      (/^\/(?![/\\])/.test(value) || (/^https?:\/\//i.test(value) && URL.canParse(value))),
    'must be a path that begins with / or an http(s) URL',
  );

/** The authorization server's options under `mcp` (contract 16). src/mcp declares the others. */
export const oauthConfig = {
  accessTokenTtl: option.integer({
    default: 3600,
    min: 1,
    max: 86_400,
    description: 'Lifetime of an access token, in seconds.',
  }),
  refreshTokenTtl: option.integer({
    default: 86_400,
    min: 1,
    max: 31_536_000,
    description: 'Lifetime of a refresh token, in seconds. Each use issues a new one.',
  }),
  grantMaxAge: option.integer({
    default: 7_776_000,
    min: 1,
    description:
      'Lifetime of a grant, in seconds. After that, the person has to consent again, even if tokens were refreshed.',
  }),
  reuseGraceSeconds: option.integer({
    default: 0,
    min: 0,
    max: 3600,
    description:
      'Seconds during which a refresh token that was just replaced returns the same successor again instead of ' +
      'ending the grant.',
  }),
  signing: option.oneOf(['HS256', 'EdDSA', 'ES256'], {
    default: 'HS256',
    description:
      'Signing algorithm of access tokens. Only this service can verify HS256; anyone can verify the others with the ' +
      'published keys.',
  }),
  signingSecret: option.optionalString({
    secret: true,
    schema: z.string().min(32, 'must have at least 32 characters'),
    defaultText: 'a key in the data folder',
    description: 'Secret for the signing keys of access tokens. All instances of one service need the same value.',
  }),
  registration: option.oneOf(['open', 'token', 'closed'], {
    default: 'open',
    description:
      'Who may register a client. open: anyone. token: holders of mcp.registrationToken, and admins. closed: only ' +
      'admins, with POST /oauth/clients.',
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
    description: 'Maximum number of self-registered clients that were never used. Beyond it, the oldest are deleted.',
  }),
  unusedClientDays: option.integer({
    default: 1,
    min: 1,
    description: 'Days after which a self-registered client that was never used is deleted.',
  }),
  clientMetadataDocuments: option.boolean({
    default: true,
    description: 'Accept the https URL of a client ID metadata document as client_id.',
  }),
  allowPrivateNetworks: option.boolean({
    default: false,
    description: 'Also fetch client ID metadata documents from private addresses and over http. For development.',
  }),
  loginPage: option.optionalString({
    schema: page,
    description:
      'Path or URL of a sign-in page to use instead of the built-in one. The query parameter `returnTo` is added.',
  }),
  consentPage: option.optionalString({
    schema: page,
    description:
      'Path or URL of a consent page to use instead of the built-in one. The parameters of the authorization request ' +
      'are added.',
  }),
  extraScopes: option.list({
    default: [],
    item: z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/, 'must be a scope of RFC 6749, section 3.3'),
    description: 'Additional scopes that clients may request.',
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
      'Actions that a granted scope permits, as `scope=action`. They apply to the tools of the MCP server that the ' +
      'token is for, or of all servers if it is for this service. `*` permits every action. A scope may appear more ' +
      'than once.',
  }),
} satisfies Section;
