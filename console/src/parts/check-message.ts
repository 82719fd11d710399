/** A message as a receiver got it, checked as the receiver does (Standard Webhooks). */
export interface Message {
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly body: string;
  readonly secret: string;
}

export type Finding =
  | 'holds'
  | 'secret-form'
  | 'signature-form'
  | 'timestamp-form'
  | 'timestamp-old'
  | 'id'
  | 'body'
  | 'secret';

/** The tolerance of receivers, which refuse messages that are older or newer by more than this. */
const TOLERANCE_S = 300;

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> | undefined => {
  try {
    return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  } catch {
    return undefined;
  }
};

/**
 * Returns why a message does not verify. `sent` is what the service sent under this id, so that a body that a framework
 * has changed can be distinguished from a wrong secret.
 */
export async function checkMessage(
  { id, timestamp, signature, body, secret }: Message,
  sent: { readonly id: string; readonly payload: string },
  now: number,
): Promise<Finding> {
  const key = bytesOf(secret.trim().replace(/^whsec_/, ''));
  if (!key || key.length === 0) return 'secret-form';
  const signatures = signature
    .trim()
    .split(/\s+/)
    .flatMap((part) => (part.startsWith('v1,') ? [bytesOf(part.slice(3))] : []))
    .filter((bytes) => bytes?.length === 32) as Uint8Array<ArrayBuffer>[];
  if (signatures.length === 0) return 'signature-form';
  if (!/^\d{9,11}$/.test(timestamp.trim())) return 'timestamp-form';
  const hmac = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
  const holds = async (withId: string, content: string): Promise<boolean> => {
    const data = new TextEncoder().encode(`${withId.trim()}.${timestamp.trim()}.${content}`);
    for (const one of signatures) if (await crypto.subtle.verify('HMAC', hmac, one, data)) return true;
    return false;
  };
  if (await holds(id, body)) return Math.abs(now / 1000 - Number(timestamp)) > TOLERANCE_S ? 'timestamp-old' : 'holds';
  if (await holds(sent.id, body)) return 'id';
  if (await holds(id, sent.payload)) return 'body';
  if (await holds(sent.id, sent.payload)) return id.trim() === sent.id ? 'body' : 'id';
  return 'secret';
}
