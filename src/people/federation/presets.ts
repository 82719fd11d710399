/** What is fixed for providers that many use. */
interface Preset {
  /** Its address, if all its customers have the same; used if no other is given. */
  readonly issuer?: string;
  /** Form of its address. */
  readonly form?: RegExp;
  readonly must?: string;
}

export const PRESET_NAMES = ['google', 'microsoft', 'okta', 'auth0', 'keycloak', 'gitlab', 'github'] as const;
export type PresetName = (typeof PRESET_NAMES)[number];

export const PRESETS: Readonly<Record<PresetName, Preset>> = {
  google: {
    issuer: 'https://accounts.google.com',
    form: /^https:\/\/accounts\.google\.com$/,
    must: 'must be https://accounts.google.com',
  },
  // `common`, `organizations`, `consumers` and the tenant of personal accounts would admit everybody.
  microsoft: {
    form: /^https:\/\/login\.(microsoftonline\.(com|us)|partner\.microsoftonline\.cn)\/(?!9188040d-)[\da-f-]{36}\/v2\.0$/,
    must: 'must be https://login.microsoftonline.com/<tenant id>/v2.0 with the id of your own tenant',
  },
  okta: {
    form: /^https?:\/\/[^/]+(\/oauth2\/[^/]+)?$/,
    must: 'must be https://<organisation>.okta.com, or that followed by /oauth2/<authorization server>',
  },
  auth0: { form: /^https?:\/\/[^/]+\/$/, must: 'must be https://<tenant>.auth0.com/ with the final slash' },
  keycloak: { form: /^https?:\/\/.+\/realms\/[^/]+$/, must: 'must be https://<host>/realms/<realm>' },
  gitlab: { issuer: 'https://gitlab.com', form: /[^/]$/, must: 'must not end with a slash' },
  // No OpenID Connect: see sign-in/github.ts.
  github: {
    issuer: 'https://github.com/login/oauth',
    form: /^https?:\/\/[^/]+\/login\/oauth$/,
    must: 'must be https://<host>/login/oauth',
  },
};

/** Values with which providers say yes. */
const YES: readonly unknown[] = [true, 'true', 1, '1'];

/**
 * Whether a provider says that it verified the address. Microsoft Entra does so with the optional claim `xms_edov`: the
 * domain of the address is a verified one of the tenant.
 */
export const saysVerified = (preset: PresetName | undefined, claims: Readonly<Record<string, unknown>>): boolean =>
  preset === 'microsoft'
    ? YES.includes(claims['xms_edov'])
    : [true, 'true'].includes(claims['email_verified'] as never);
