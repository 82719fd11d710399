/** Bytes of a root secret in hex or base64url; undefined if it has fewer than 32. */
export function bytesOfSecret(text: string): Buffer | undefined {
  const bytes = /^([0-9a-f]{2})+$/i.test(text)
    ? Buffer.from(text, 'hex')
    : /^[\w-]+=*$/.test(text)
      ? Buffer.from(text, 'base64url')
      : Buffer.alloc(0);
  return bytes.length >= 32 ? bytes : undefined;
}
