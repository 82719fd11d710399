/** Name of a cookie of ours. `__Host-` where it is only ever sent over https (RFC 6265bis, section 4.1.3.2). */
export const serviceCookieName = (baseUrl: string, serviceName: string, name: string): string =>
  `${baseUrl.startsWith('https:') ? '__Host-' : ''}${serviceName}_${name}`;

/** A Set-Cookie value. Without `maxAgeSeconds` the browser forgets the cookie when it closes; 0 removes it. */
export function serviceCookie(
  baseUrl: string,
  serviceName: string,
  name: string,
  value: string,
  maxAgeSeconds?: number,
): string {
  return setCookie(baseUrl, serviceCookieName(baseUrl, serviceName, name), value, maxAgeSeconds);
}

/** A Set-Cookie value with a name as it is, for the whole origin. Scripts cannot read the cookie. */
export function setCookie(baseUrl: string, name: string, value: string, maxAgeSeconds?: number): string {
  const attributes = ['Path=/', 'HttpOnly', 'SameSite=Lax'];
  if (baseUrl.startsWith('https:')) attributes.push('Secure');
  if (maxAgeSeconds !== undefined) attributes.push(`Max-Age=${maxAgeSeconds}`);
  return [`${name}=${value}`, ...attributes].join('; ');
}

export const sessionCookieName = (baseUrl: string, serviceName: string): string =>
  serviceCookieName(baseUrl, serviceName, 'session');

export const sessionCookie = (baseUrl: string, serviceName: string, value: string, maxAgeSeconds?: number): string =>
  serviceCookie(baseUrl, serviceName, 'session', value, maxAgeSeconds);

/** Value of one cookie in a Cookie header; the first one when a name is repeated (RFC 6265, section 5.4). */
export function readCookie(header: string | null, name: string): string | undefined {
  if (!header) return undefined;
  for (const part of header.split(';')) {
    const equals = part.indexOf('=');
    if (equals !== -1 && part.slice(0, equals).trim() === name) return part.slice(equals + 1).trim();
  }
  return undefined;
}
