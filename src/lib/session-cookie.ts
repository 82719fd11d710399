/** `__Host-` where the cookie is only ever sent over https (RFC 6265bis, section 4.1.3.2). */
export const sessionCookieName = (baseUrl: string, serviceName: string): string => `${baseUrl.startsWith('https:') ? '__Host-' : ''}${serviceName}_session`;

/** A Set-Cookie value. Without `maxAgeSeconds` the browser forgets the cookie when it closes; 0 removes it. */
export function sessionCookie(baseUrl: string, serviceName: string, value: string, maxAgeSeconds?: number): string {
  const attributes = ['Path=/', 'HttpOnly', 'SameSite=Lax'];
  if (baseUrl.startsWith('https:')) attributes.push('Secure');
  if (maxAgeSeconds !== undefined) attributes.push(`Max-Age=${maxAgeSeconds}`);
  return [`${sessionCookieName(baseUrl, serviceName)}=${value}`, ...attributes].join('; ');
}

/** Value of one cookie in a Cookie header; the first one when a name is repeated (RFC 6265, section 5.4). */
export function readCookie(header: string | null, name: string): string | undefined {
  if (!header) return undefined;
  for (const part of header.split(';')) {
    const equals = part.indexOf('=');
    if (equals !== -1 && part.slice(0, equals).trim() === name) return part.slice(equals + 1).trim();
  }
  return undefined;
}
