import { isIP } from 'node:net';
import { validationFailed } from '../../kernel/errors.ts';
import { whyNotPublic } from '../../operations/outbound/index.ts';

/**
 * Throws 400 for a URL to which deliveries would always be refused. What a name resolves to is checked at each
 * delivery.
 */
export function assertDeliverable(url: string, allowPrivateNetworks: boolean): void {
  const refuse = (message: string): never => {
    throw validationFailed([{ path: 'url', message }]);
  };
  if (!URL.canParse(url)) refuse('must be an absolute https address');
  const { protocol, username, password, hostname } = new URL(url);
  if (protocol !== 'https:' && !(allowPrivateNetworks && protocol === 'http:')) refuse('must be an https address');
  if (username !== '' || password !== '') refuse('must not have a user name or password');
  const address = hostname.replace(/^\[(.*)\]$/, '$1');
  if (allowPrivateNetworks) return;
  if (isIP(address) && whyNotPublic(address) !== undefined) refuse('must not be a private or special-use address');
  if (/(^|\.)(localhost|local|internal)\.?$/i.test(address)) refuse('must not be a name of this machine or network');
}
