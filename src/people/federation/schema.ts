import { z } from 'zod';
import { isoTimestamp, text } from '../../kernel/json.ts';
import { PRESET_NAMES, PRESETS, type PresetName } from './presets.ts';

export const MAX_ISSUERS = 100;

export const ISSUER_USES = ['signIn', 'workload', 'enterprise'] as const;

const MAX_DOMAINS = 100;
const MAX_MAPPINGS = 200;

/**
 * Asymmetric algorithms of RFC 7518, section 3.1, RFC 8037, and RFC 9864, which names EdDSA by its curve. With a shared
 * secret, every other holder could sign too.
 */
export const ISSUER_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;
export const DEFAULT_ALGORITHMS: readonly (typeof ISSUER_ALGORITHMS)[number][] = ['RS256', 'ES256'];

const unique = (values: readonly string[]): boolean => new Set(values).size === values.length;

const isAddress = (value: string): boolean => {
  if (!/^https?:\/\/[\x21-\x7e]+$/.test(value) || !URL.canParse(value)) return false;
  const { username, password } = new URL(value);
  return username === '' && password === '' && !value.includes('#');
};

const Name = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be lower-case letters, digits and hyphens');
const Address = z.string().max(1000).refine(isAddress, 'must be an https address without user name and fragment');
const IssuerAddress = Address.refine((value) => !value.includes('?'), 'must not have a query');
const Uses = z
  .array(z.enum(ISSUER_USES))
  .min(1)
  .refine(unique, 'must not repeat a use')
  .meta({
    description:
      'signIn: people sign in with it. workload: agents may trust its tokens (`POST /agents/{id}/trust`). ' +
      'enterprise: it may let applications act for its people without asking them (ID-JAG).',
  });
/** A domain in the form in which addresses are compared. */
const Domain = z
  .string()
  .max(253)
  .transform((domain) => domain.normalize('NFKC').toLowerCase())
  .refine((domain) => /^[^\s@.:/*]+(\.[^\s@.:/*]+)+$/u.test(domain), 'must be a domain such as example.com');
const Domains = z
  .array(Domain)
  .max(MAX_DOMAINS)
  .meta({
    description:
      'Domains for which the issuer is trusted to confirm addresses, without subdomains. Only at an address in them ' +
      'do its people join an existing account with the same verified address.',
    examples: [['example.com']],
  });
const Enterprise = z.strictObject({ required: z.boolean() }).meta({
  description:
    'required: only the issuer can let applications act for people with an address in its domains; they cannot.',
});
const Algorithms = z
  .array(z.enum(ISSUER_ALGORITHMS))
  .min(1)
  .refine(unique, 'must not repeat an algorithm')
  .meta({ description: `Default: ${DEFAULT_ALGORITHMS.join(', ')}.` });

const Mapping = z
  .strictObject({
    claim: text(200).meta({
      description: 'Name of a claim. Its value is a text, a number, a boolean, or an array of these.',
    }),
    value: text(400),
    role: z.enum(['user', 'admin', 'auditor']).optional(),
    tenant: text(100).optional().meta({ description: 'Slug of a tenant.' }),
  })
  .refine(({ role, tenant }) => role !== undefined || tenant !== undefined, 'must have a role or a tenant')
  .meta({ id: 'IssuerMapping' });
const Mappings = z
  .array(Mapping)
  .max(MAX_MAPPINGS)
  .meta({
    description:
      'Role and tenant of people whose claim has this value, set at each sign-in. The strongest role and the first ' +
      'tenant apply. If nothing matches, the role is user, without a tenant.',
    examples: [[{ claim: 'groups', value: 'Staff', role: 'admin' }]],
  });
const SecondFactors = z
  .array(text(200))
  .max(20)
  .meta({
    description:
      'Values of `acr` or `amr` with which the issuer confirms a second factor. A person with a second factor ' +
      'here is then not asked for a code.',
    examples: [['mfa']],
  });
const ClientId = text(400).meta({ description: 'This service as a client of the issuer. Needed for signIn.' });
const ClientSecret = text(1000).meta({
  format: 'password',
  description: 'Stored encrypted and never shown. Without it, the client is a public client.',
});

const PresetField = z.enum(PRESET_NAMES).meta({
  description:
    'A well-known provider. Fills in `issuer` if all customers share one, and checks its form. github ' +
    'signs people in with OAuth 2, because it does not support OpenID Connect, and needs `clientSecret`.',
});

const fields = {
  name: Name.meta({ description: 'Unique.', examples: ['github-actions'] }),
  issuer: IssuerAddress.optional().meta({
    description:
      'Its address, exactly as in the claim `iss` of its tokens. Unique. Required unless the preset has one. https, ' +
      'unless federation.allowPrivateNetworks is on.',
    examples: ['https://token.actions.githubusercontent.com'],
  }),
  preset: PresetField.optional(),
  uses: Uses,
  audience: text(1000).optional().meta({
    description: 'Audience that its tokens must have. Default: the issuer or the token endpoint of this service.',
  }),
  jwksUri: Address.optional().meta({
    description:
      'Address of its public keys, https like `issuer`. Default: the address in its document ' +
      '`/.well-known/openid-configuration`.',
  }),
  algorithms: Algorithms.optional(),
  clientId: ClientId.optional(),
  clientSecret: ClientSecret.optional(),
  domains: Domains.optional(),
  enterprise: Enterprise.optional(),
  map: Mappings.optional(),
  secondFactors: SecondFactors.optional(),
};

/** The address of an issuer; empty if neither it nor its preset has one. */
export const addressOf = ({
  preset,
  issuer,
}: {
  preset?: PresetName | undefined;
  issuer?: string | undefined;
}): string => issuer ?? (preset && PRESETS[preset].issuer) ?? '';

/** GitHub signs no tokens that could be verified, and exchanges codes with a secret only. */
export const presetProblems = (
  preset: PresetName | null | undefined,
  uses: Issuer['uses'],
  clientSecret: string | null | undefined,
): { readonly path: string; readonly message: string }[] =>
  preset !== 'github'
    ? []
    : [
        ...(uses.some((use) => use !== 'signIn') ? [{ path: 'uses', message: 'must be only signIn for github' }] : []),
        ...(clientSecret ? [] : [{ path: 'clientSecret', message: 'is required for github' }]),
      ];

/** Contract 23.1. */
export const CreateIssuer = z
  .strictObject(fields)
  .superRefine(({ preset, issuer, uses, clientSecret }, context) => {
    const address = addressOf({ preset, issuer });
    const { form, must } = (preset && PRESETS[preset]) ?? {};
    const fail = (path: string, message = '') => context.addIssue({ code: 'custom', path: [path], message });
    if (address === '') fail('issuer', 'is required, because the preset has none');
    else if (form && !form.test(address)) fail('issuer', must);
    for (const each of presetProblems(preset, uses, clientSecret)) fail(each.path, each.message);
  })
  .refine(({ uses, clientId }) => !uses.includes('signIn') || clientId !== undefined, {
    path: ['clientId'],
    message: 'is required for the use signIn',
  })
  .meta({ id: 'CreateIssuerRequest' });
export type CreateIssuer = z.output<typeof CreateIssuer>;

export const UpdateIssuer = z
  .strictObject({
    name: Name.optional(),
    uses: Uses.optional(),
    audience: text(1000).nullable().optional(),
    jwksUri: Address.nullable().optional(),
    algorithms: Algorithms.optional(),
    clientId: ClientId.nullable().optional(),
    clientSecret: ClientSecret.nullable().optional(),
    domains: Domains.nullable().optional(),
    enterprise: Enterprise.optional(),
    map: Mappings.nullable().optional(),
    secondFactors: SecondFactors.nullable().optional(),
  })
  .meta({ id: 'UpdateIssuerRequest' });
export type UpdateIssuer = z.output<typeof UpdateIssuer>;

export const Issuer = z
  .object({
    id: z.string(),
    name: z.string(),
    issuer: z.string(),
    preset: z.enum(PRESET_NAMES).optional(),
    uses: z.array(z.enum(ISSUER_USES)),
    audience: z.string().optional(),
    jwksUri: z.string().optional(),
    algorithms: z.array(z.enum(ISSUER_ALGORITHMS)),
    clientId: z.string().optional(),
    domains: z.array(z.string()).optional(),
    enterprise: z.object({ required: z.boolean() }).optional(),
    map: z.array(Mapping).optional(),
    secondFactors: z.array(z.string()).optional(),
    source: z.enum(['api', 'configuration']).meta({
      description: 'configuration: declared in `issuers` of the configuration; the API cannot change it.',
    }),
    createdAt: isoTimestamp.optional().meta({ description: 'Absent for an issuer of the configuration.' }),
    updatedAt: isoTimestamp.optional(),
  })
  .meta({ id: 'Issuer' });
export type Issuer = z.output<typeof Issuer>;
