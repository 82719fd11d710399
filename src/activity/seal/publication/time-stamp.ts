import { createHash, randomBytes } from 'node:crypto';

/** SHA-256 as an AlgorithmIdentifier in DER (RFC 8017, appendix B.1). */
const SHA256 = Buffer.from('300d06096086480165030402010500', 'hex');
const [INTEGER, OCTETS, SEQUENCE] = [0x02, 0x04, 0x30];
/** certReq true: the answer contains the certificate of the authority. */
const CERT_REQ = Buffer.from('0101ff', 'hex');

/** An element in DER with less than 128 bytes of content. */
const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  if (content.length > 127) throw new RangeError('The content has a long length.');
  return Buffer.concat([Buffer.of(tag, content.length), content]);
};

export interface StampRequest {
  /** TimeStampReq (RFC 3161, section 2.4.1). */
  readonly query: Buffer;
  /**
   * Returns whether an answer is a granted time stamp for this request. Its signature is checked by the verifier only.
   */
  isAnsweredBy(answer: Uint8Array): boolean;
}

/** Requests a time stamp of a text. */
export function stampRequest(text: string): StampRequest {
  const imprint = der(SEQUENCE, SHA256, der(OCTETS, createHash('sha256').update(text).digest()));
  const nonceBytes = randomBytes(16);
  // A positive number without a leading zero byte.
  nonceBytes[0] = ((nonceBytes[0] ?? 0) & 0x7f) | 0x40;
  const nonce = der(INTEGER, nonceBytes);
  return {
    query: der(SEQUENCE, der(INTEGER, Buffer.of(1)), imprint, nonce, CERT_REQ),
    isAnsweredBy: (answer) => {
      const bytes = Buffer.from(answer);
      return isGranted(bytes) && bytes.includes(imprint) && bytes.includes(nonce);
    },
  };
}

/** Whether a TimeStampResp has the status 0 or 1 (RFC 3161, section 2.4.2). */
function isGranted(bytes: Buffer): boolean {
  const outer = contentAt(bytes, 0, SEQUENCE);
  const info = outer === undefined ? undefined : contentAt(bytes, outer, SEQUENCE);
  return info !== undefined && bytes[info] === INTEGER && bytes[info + 1] === 1 && (bytes[info + 2] ?? 9) <= 1;
}

/** Returns where the content of an element begins; undefined if it has another tag. */
function contentAt(bytes: Buffer, at: number, tag: number): number | undefined {
  const length = bytes[at + 1];
  if (bytes[at] !== tag || length === undefined) return undefined;
  return at + 2 + (length < 0x80 ? 0 : length & 0x7f);
}
