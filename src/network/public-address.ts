import ipaddr from 'ipaddr.js';

/** Public ranges that a cloud's internal network uses: Azure's metadata service and DNS. */
const CLOUD_INTERNAL_V4 = new Set(['168.63.129.16']);

/** The only IPv6 block with assigned public addresses (IANA: 2000::/3). */
const GLOBAL_UNICAST_V6: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

/**
 * True for an address of the public internet. Private, loopback, link-local, shared
 * (CGNAT), metadata, multicast, documentation and reserved ranges are not public. Neither is any IPv6 form that
 * contains an IPv4 address (mapped, NAT64, 6to4, Teredo): a gateway could convert it to a private address. Only
 * canonical spellings are accepted, because another parser may read octal or decimal forms differently.
 */
export function isPublicAddress(address: string): boolean {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) {
    return ipaddr.IPv4.parse(address).range() === 'unicast' && !CLOUD_INTERNAL_V4.has(address);
  }
  if (!ipaddr.IPv6.isValid(address)) return false;
  const parsed = ipaddr.IPv6.parse(address);
  return parsed.range() === 'unicast' && parsed.match(GLOBAL_UNICAST_V6);
}
