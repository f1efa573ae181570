import ipaddr from 'ipaddr.js';

/** Public by its range, but answered by the cloud's own network inside a machine: Azure's metadata and DNS. */
const CLOUD_INTERNAL_V4 = new Set(['168.63.129.16']);

/** The only block of IPv6 from which public addresses are given out (IANA: 2000::/3). */
const GLOBAL_UNICAST_V6: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

/**
 * True for an address of the public internet (spec.md "MCP server": url). Private, loopback, link-local, shared (CGNAT),
 * metadata, multicast, documentation and reserved ranges are not; neither is any IPv6 form that carries an IPv4 address
 * (mapped, NAT64, 6to4, Teredo), whatever the address in it: a gateway on the way could turn it into a private one.
 * Only the canonical spelling counts: what another parser may read differently (octal, decimal) is not public.
 */
export function isPublicAddress(address: string): boolean {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) {
    return ipaddr.IPv4.parse(address).range() === 'unicast' && !CLOUD_INTERNAL_V4.has(address);
  }
  if (!ipaddr.IPv6.isValid(address)) return false;
  const parsed = ipaddr.IPv6.parse(address);
  return parsed.range() === 'unicast' && parsed.match(GLOBAL_UNICAST_V6);
}
