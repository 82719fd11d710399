/** Settings of well-known providers. */
interface Preset {
  /** Default address, if all customers of the provider share one. */
  readonly issuer?: string;
  /** Pattern that the address must match. */
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
  // `common`, `organizations`, `consumers` and the tenant of personal accounts would let any Microsoft account sign in.
  microsoft: {
    form: /^https:\/\/login\.(microsoftonline\.(com|us)|partner\.microsoftonline\.cn)\/(?!9188040d-)[\da-f-]{36}\/v2\.0$/,
    must: 'must be https://login.microsoftonline.com/<tenant id>/v2.0 with the id of your own tenant',
  },
  okta: {
    form: /^https?:\/\/[^/]+(\/oauth2\/[^/]+)?$/,
    must: 'must be https://<organisation>.okta.com, optionally followed by /oauth2/<authorization server>',
  },
  auth0: { form: /^https?:\/\/[^/]+\/$/, must: 'must be https://<tenant>.auth0.com/ with the final slash' },
  keycloak: { form: /^https?:\/\/.+\/realms\/[^/]+$/, must: 'must be https://<host>/realms/<realm>' },
  gitlab: { issuer: 'https://gitlab.com', form: /[^/]$/, must: 'must not end with a slash' },
  // GitHub does not support OpenID Connect: see sign-in/github.ts.
  github: {
    issuer: 'https://github.com/login/oauth',
    form: /^https?:\/\/[^/]+\/login\/oauth$/,
    must: 'must be https://<host>/login/oauth',
  },
};

/** Values that providers use for true. */
const YES: readonly unknown[] = [true, 'true', 1, '1'];

/**
 * Returns whether a provider states that it verified the address. Microsoft Entra states this with the optional claim
 * `xms_edov`: the tenant has verified the domain of the address.
 */
export const saysVerified = (preset: PresetName | undefined, claims: Readonly<Record<string, unknown>>): boolean =>
  preset === 'microsoft'
    ? YES.includes(claims['xms_edov'])
    : claims['email_verified'] === true || claims['email_verified'] === 'true';
