import { z } from 'zod';
import { isoTimestamp, text } from '../../../kernel/json.ts';

const MAX_DATA_CHARS = 32_768;
/** A credential id has at most 1023 bytes (WebAuthn Level 3, section 4). */
const MAX_ID_CHARS = 1364;

const base64url = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[A-Za-z0-9_-]+$/, 'must be base64url without padding');
const Data = base64url(MAX_DATA_CHARS);
const CredentialId = base64url(MAX_ID_CHARS);
const Transports = z.array(text(32)).max(16);
const Name = text(100);

/** The members that both answers of an authenticator have. */
const answer = {
  id: CredentialId,
  rawId: CredentialId,
  type: z.literal('public-key'),
  authenticatorAttachment: text(32).nullish(),
  clientExtensionResults: z.record(z.string().max(100), z.unknown()).optional(),
};

/** RegistrationResponseJSON of WebAuthn Level 3, and a name. */
export const VerifyRegistration = z
  .strictObject({
    ...answer,
    response: z.strictObject({
      clientDataJSON: Data,
      attestationObject: Data,
      transports: Transports.optional(),
      authenticatorData: Data.optional(),
      publicKey: Data.nullish(),
      publicKeyAlgorithm: z.number().int().optional(),
    }),
    name: Name.optional().meta({ description: 'Shown in the list of passkeys. Default: the kind of device.' }),
  })
  .meta({
    id: 'VerifyPasskeyRegistrationRequest',
    description: 'RegistrationResponseJSON, as PublicKeyCredential.toJSON() returns it, and a name.',
  });
export type VerifyRegistration = z.output<typeof VerifyRegistration>;

/** AuthenticationResponseJSON of WebAuthn Level 3. */
export const VerifyPasskeySignIn = z
  .strictObject({
    ...answer,
    response: z.strictObject({
      clientDataJSON: Data,
      authenticatorData: Data,
      signature: Data,
      userHandle: base64url(MAX_ID_CHARS).nullish(),
    }),
    rememberMe: z
      .boolean()
      .default(true)
      .meta({ description: 'false: the browser deletes the cookie when it closes.' }),
  })
  .meta({
    id: 'VerifyPasskeySignInRequest',
    description: 'AuthenticationResponseJSON, as PublicKeyCredential.toJSON() returns it.',
  });
export type VerifyPasskeySignIn = z.output<typeof VerifyPasskeySignIn>;

const Descriptor = z.object({
  id: z.string(),
  type: z.literal('public-key'),
  transports: z.array(z.string()).optional(),
});

/** PublicKeyCredentialCreationOptionsJSON of WebAuthn Level 3. */
export const RegistrationOptions = z
  .object({
    challenge: z.string(),
    rp: z.object({ id: z.string(), name: z.string() }),
    user: z.object({ id: z.string(), name: z.string(), displayName: z.string() }),
    pubKeyCredParams: z.array(z.object({ type: z.literal('public-key'), alg: z.number() })),
    timeout: z.number(),
    excludeCredentials: z.array(Descriptor),
    authenticatorSelection: z.object({
      residentKey: z.literal('required'),
      requireResidentKey: z.literal(true),
      userVerification: z.literal('required'),
    }),
    attestation: z.literal('none'),
  })
  .meta({
    id: 'PasskeyRegistrationOptions',
    description: 'PublicKeyCredentialCreationOptionsJSON, for PublicKeyCredential.parseCreationOptionsFromJSON().',
  });
export type RegistrationOptions = z.output<typeof RegistrationOptions>;

/** PublicKeyCredentialRequestOptionsJSON of WebAuthn Level 3. */
export const SignInOptions = z
  .object({
    challenge: z.string(),
    rpId: z.string(),
    timeout: z.number(),
    userVerification: z.literal('required'),
    allowCredentials: z.array(Descriptor).max(0),
  })
  .meta({
    id: 'PasskeySignInOptions',
    description: 'PublicKeyCredentialRequestOptionsJSON, for PublicKeyCredential.parseRequestOptionsFromJSON().',
  });
export type SignInOptions = z.output<typeof SignInOptions>;

export const Passkey = z
  .object({
    id: z.string(),
    name: z.string(),
    synced: z.boolean().meta({ description: 'true: a password manager may copy it to other devices.' }),
    transports: z.array(z.string()).meta({ description: 'How the authenticator is reached, such as internal or usb.' }),
    createdAt: isoTimestamp,
    lastUsedAt: isoTimestamp.nullable().meta({ description: 'null: not used to sign in.' }),
  })
  .meta({ id: 'Passkey' });
export type Passkey = z.output<typeof Passkey>;
