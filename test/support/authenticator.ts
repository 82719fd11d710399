import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { SYSTEM } from '../../src/access/actor.ts';
import { asId } from '../../src/kernel/ids.ts';
import { createSession } from '../../src/people/sessions/index.ts';
import type { Answered, Json, TestService, TestUser } from './service.ts';

/** Deviations of an authenticator or browser. */
export interface Deviation {
  /** Origin of the page, as the browser states it. */
  readonly origin?: string;
  readonly crossOrigin?: boolean;
  readonly type?: string;
  /** The host for which the authenticator signs. */
  readonly rpId?: string;
  /** false if the authenticator did not verify its user. */
  readonly uv?: boolean;
  /** false if the authenticator was not touched. */
  readonly up?: boolean;
  readonly synced?: boolean;
  readonly counter?: number;
  readonly userHandle?: string;
  /** Used instead of the correct signature. */
  readonly signature?: string;
  /** `packed`, signed by the new key itself or by {@link MANUFACTURER}, or an unknown format. The default is none. */
  readonly attestation?: 'self' | 'manufacturer' | 'unknown';
}

interface Credential {
  readonly id: string;
  readonly rpId: string;
  readonly userHandle: string;
  readonly key: KeyObject;
  counter: number;
}

/** An authenticator in software with discoverable ES256 credentials, and the browser that uses it. */
export class Authenticator {
  readonly credentials: Credential[] = [];
  readonly #origin: string;

  constructor(origin = 'http://localhost:3000') {
    this.#origin = origin;
  }

  /** The result of navigator.credentials.create(), as JSON. */
  create(options: Json, deviation: Deviation = {}): Json {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const id = randomBytes(32);
    const credential: Credential = {
      id: id.toString('base64url'),
      rpId: options.rp.id,
      userHandle: options.user.id,
      key: privateKey,
      counter: deviation.counter ?? 1,
    };
    this.credentials.push(credential);
    const { x, y } = publicKey.export({ format: 'jwk' }) as { x: string; y: string };
    const coseKey = cbor(
      new Map<number, CborValue>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Buffer.from(x, 'base64url')],
        [-3, Buffer.from(y, 'base64url')],
      ]),
    );
    const length = Buffer.alloc(2);
    length.writeUInt16BE(id.length);
    const attested = Buffer.concat([Buffer.alloc(16), length, id, coseKey]);
    const authData = Buffer.concat([header(credential, deviation, 0x40), attested]);
    const clientDataJSON = this.#clientData('webauthn.create', options.challenge, deviation);
    const signed = Buffer.concat([authData, hashOf(clientDataJSON)]);
    const [format, statement] = attest(signed, privateKey, deviation.attestation);
    const attestationObject = cbor(
      new Map<string, CborValue>([
        ['fmt', format],
        ['attStmt', statement],
        ['authData', authData],
      ]),
    );
    return this.#answer(credential, {
      clientDataJSON,
      attestationObject: attestationObject.toString('base64url'),
      authenticatorData: authData.toString('base64url'),
      publicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64url'),
      publicKeyAlgorithm: -7,
      transports: ['internal'],
    });
  }

  /** The result of navigator.credentials.get() with the newest credential, as JSON. */
  get(options: Json, deviation: Deviation = {}, credential = this.credentials.at(-1) as Credential): Json {
    credential.counter = deviation.counter ?? credential.counter + 1;
    const authData = header(credential, deviation, 0);
    const clientDataJSON = this.#clientData('webauthn.get', options.challenge, deviation);
    const signature = sign('sha256', Buffer.concat([authData, hashOf(clientDataJSON)]), credential.key);
    return this.#answer(credential, {
      clientDataJSON,
      authenticatorData: authData.toString('base64url'),
      signature: deviation.signature ?? signature.toString('base64url'),
      userHandle: deviation.userHandle ?? credential.userHandle,
    });
  }

  #clientData(type: string, challenge: string, deviation: Deviation): string {
    const data = {
      type: deviation.type ?? type,
      challenge,
      origin: deviation.origin ?? this.#origin,
      crossOrigin: deviation.crossOrigin ?? false,
    };
    return Buffer.from(JSON.stringify(data)).toString('base64url');
  }

  #answer({ id }: Credential, response: Json): Json {
    return {
      id,
      rawId: id,
      type: 'public-key',
      authenticatorAttachment: 'platform',
      clientExtensionResults: {},
      response,
    };
  }
}

const hashOf = (clientDataJSON: string): Buffer =>
  createHash('sha256').update(Buffer.from(clientDataJSON, 'base64url')).digest();

/** A key and its certificate, which the library would accept; it names a revocation list at a documentation address. */
const MANUFACTURER = {
  key: [
    'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgJ4uXlVvGuSJzuRS4sexWWKuen3oyNj9/4OXBD9d4rWqhRANCAAQI',
    'O/tooAx4S8DSVadkkOXCPJRZaRoWANWUXViLuGPNpn2LMtui6wrCvHL+1yQUeRqUR+LG3N4roxDuLG8J8SEG',
  ].join(''),
  certificate: [
    'MIICKDCCAc+gAwIBAgIUKD/8Yp/2gVPD4zBhLqD/o5ENticwCgYIKoZIzj0EAwIwZTELMAkGA1UEBhMCREUxFTATBgNVBAoMDExl',
    'Z2F0ZSB0ZXN0czEiMCAGA1UECwwZQXV0aGVudGljYXRvciBBdHRlc3RhdGlvbjEbMBkGA1UEAwwSVGVzdCBhdXRoZW50aWNhdG9y',
    'MCAXDTI2MTEyMzE2MDUyMloYDzIxMjYxMDMwMTYwNTIyWjBlMQswCQYDVQQGEwJERTEVMBMGA1UECgwMTGVnYXRlIHRlc3RzMSIw',
    'IAYDVQQLDBlBdXRoZW50aWNhdG9yIEF0dGVzdGF0aW9uMRswGQYDVQQDDBJUZXN0IGF1dGhlbnRpY2F0b3IwWTATBgcqhkjOPQIB',
    'BggqhkjOPQMBBwNCAAQIO/tooAx4S8DSVadkkOXCPJRZaRoWANWUXViLuGPNpn2LMtui6wrCvHL+1yQUeRqUR+LG3N4roxDuLG8J',
    '8SEGo1swWTAMBgNVHRMBAf8EAjAAMCoGA1UdHwQjMCEwH6AdoBuGGWh0dHA6Ly8xOTIuMC4yLjEvbGlzdC5jcmwwHQYDVR0OBBYE',
    'FMFD3Z6RFPapqGo+xL4bCGgRs0EzMAoGCCqGSM49BAMCA0cAMEQCIHnVQsV2GKXVgGs2lWUMXvCbL/Ml2tXgCFjhviYE9J2yAiBK',
    'uM4LDPXZqKvHB5BHGy6BZCXWha33kpQKOcqczoZiIQ==',
  ].join(''),
};

/** Returns format and statement of an attestation (WebAuthn Level 3, section 8). */
function attest(
  signed: Buffer,
  key: KeyObject,
  by: Deviation['attestation'],
): [format: string, statement: ReadonlyMap<string, CborValue>] {
  if (by === undefined || by === 'unknown') return [by ?? 'none', new Map()];
  if (by === 'self')
    return [
      'packed',
      new Map<string, CborValue>([
        ['alg', -7],
        ['sig', sign('sha256', signed, key)],
      ]),
    ];
  const maker = createPrivateKey({ key: Buffer.from(MANUFACTURER.key, 'base64'), format: 'der', type: 'pkcs8' });
  return [
    'packed',
    new Map<string, CborValue>([
      ['alg', -7],
      ['sig', sign('sha256', signed, maker)],
      ['x5c', [Buffer.from(MANUFACTURER.certificate, 'base64')]],
    ]),
  ];
}

/** The first 37 bytes of authenticator data (WebAuthn Level 3, section 6.1). */
function header(credential: Credential, { rpId, uv, up, synced, counter }: Deviation, more: number): Buffer {
  const hash = createHash('sha256')
    .update(rpId ?? credential.rpId)
    .digest();
  const flags = (up === false ? 0 : 0x01) | (uv === false ? 0 : 0x04) | (synced ? 0x18 : 0) | more;
  const rest = Buffer.alloc(5);
  rest.writeUInt8(flags);
  rest.writeUInt32BE(counter ?? credential.counter, 1);
  return Buffer.concat([hash, rest]);
}

type CborValue = number | string | Buffer | readonly CborValue[] | ReadonlyMap<string | number, CborValue>;

/** Encodes what authenticators send (RFC 8949): integers, bytes, text, lists and maps. */
function cbor(value: CborValue): Buffer {
  const head = (major: number, n: number): Buffer =>
    n < 24
      ? Buffer.from([(major << 5) | n])
      : n < 256
        ? Buffer.from([(major << 5) | 24, n])
        : Buffer.from([(major << 5) | 25, n >> 8, n & 255]);
  if (typeof value === 'number') return value >= 0 ? head(0, value) : head(1, -1 - value);
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  if (value instanceof Map)
    return Buffer.concat([head(5, value.size), ...[...value].flatMap(([k, v]) => [cbor(k), cbor(v)])]);
  const list = value as readonly CborValue[];
  return Buffer.concat([head(4, list.length), ...list.map(cbor)]);
}

/** Creates a session of a user who has signed in with all their factors. */
export async function newSession(t: TestService, userId: string): Promise<string> {
  const device = { ip: '192.0.2.1', userAgent: null };
  const { token } = await t.legate.platform.ledger.change(SYSTEM, (change) =>
    createSession(t.legate.platform, change, asId('user', userId), device, 'test'),
  );
  return token;
}

export const registrationOptions = async (t: TestService, session: string): Promise<Json> =>
  (await t.call('POST', '/passkeys/register/options', { as: session })).body;

/** Adds a passkey through a session. */
export async function addPasskey(
  t: TestService,
  session: string,
  authenticator = new Authenticator(),
  { name, ...deviation }: Deviation & { name?: string } = {},
): Promise<Answered> {
  const answer = authenticator.create(await registrationOptions(t, session), deviation);
  return t.call('POST', '/passkeys/register/verify', { as: session, body: { ...answer, ...(name && { name }) } });
}

/** Adds a passkey to a user who has no session yet, and returns its id. */
export async function passkeyOf(
  t: TestService,
  { id }: TestUser,
  authenticator = new Authenticator(),
): Promise<string> {
  return (await addPasskey(t, await newSession(t, id), authenticator)).body.id;
}

/** Starts a sign-in in a new browser, and returns its options and its cookie. */
export async function signInOptions(t: TestService): Promise<{ options: Json; cookie: string }> {
  const r = await t.call('POST', '/passkeys/sign-in/options');
  return { options: r.body, cookie: (r.headers.getSetCookie()[0] ?? '').split(';')[0] as string };
}

/** Signs in with the newest passkey of an authenticator. */
export async function signInWithPasskey(
  t: TestService,
  authenticator: Authenticator,
  deviation: Deviation & { body?: Json; headers?: Record<string, string> } = {},
): Promise<Answered> {
  const { options, cookie } = await signInOptions(t);
  const body = { ...authenticator.get(options, deviation), ...deviation.body };
  return t.call('POST', '/passkeys/sign-in/verify', { body, headers: { cookie, ...deviation.headers } });
}
