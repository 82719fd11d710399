/** Returns origins and their hosts, with and without the default port of the scheme. */
export function allowedPlaces(addresses: readonly string[]): { origins: Set<string>; hosts: Set<string> } {
  const urls = addresses.map((address) => new URL(address));
  return {
    origins: new Set(urls.map(({ origin }) => origin)),
    hosts: new Set(
      urls.flatMap(({ host, hostname, protocol, port }) =>
        port === '' ? [host, `${hostname}:${protocol === 'https:' ? 443 : 80}`] : [host],
      ),
    ),
  };
}
