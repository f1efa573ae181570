import { expect } from 'chai';
import fc from 'fast-check';
import { isPublicAddress } from '../../../src/network/public-address.js';
import { parseServerUrl } from '../../../src/network/server-url.js';

/** Hosts as an attacker would write them in a url, and whether the url may be registered. */
const HOSTS: [host: string, accepted: boolean, why: string][] = [
  ['8.8.8.8', true, 'public'],
  ['1.1.1.1', true, 'public'],
  ['93.184.215.14', true, 'public'],
  ['172.15.255.255', true, 'just below 172.16/12'],
  ['172.32.0.0', true, 'just above 172.16/12'],
  ['100.63.255.255', true, 'just below CGNAT'],
  ['100.128.0.0', true, 'just above CGNAT'],
  ['169.253.255.255', true, 'just below link-local'],
  ['223.255.255.255', true, 'just below multicast'],
  ['134744072', true, '8.8.8.8 in decimal'],
  ['0x08.0x08.0x08.0x08', true, '8.8.8.8 in hex'],
  ['[2606:4700:4700::1111]', true, 'public IPv6'],
  ['[2a00:1450:4001:800::200e]', true, 'public IPv6'],
  ['mcp.example.com', true, 'a name: its addresses decide'],
  ['mcp.example.com.', true, 'a name with its root dot'],
  ['localhost.example.com', true, 'localhost only at the end is local'],

  ['localhost', false, 'loopback by name'],
  ['LOCALHOST', false, 'loopback by name, upper case'],
  ['localhost.', false, 'loopback by name, root dot'],
  ['app.localhost', false, 'loopback by name, RFC 6761'],
  ['127.0.0.1', false, 'loopback'],
  ['127.0.0.1.', false, 'loopback, root dot'],
  ['127.255.255.254', false, 'loopback'],
  ['127.1', false, 'loopback, two parts'],
  ['127.0.1', false, 'loopback, three parts'],
  ['2130706433', false, 'loopback, decimal'],
  ['0x7f000001', false, 'loopback, hex'],
  ['0x7f.1', false, 'loopback, hex and short'],
  ['0177.0.0.1', false, 'loopback, octal'],
  ['017700000001', false, 'loopback, octal in one'],
  ['0177.0x0.0.1', false, 'loopback, mixed'],
  ['127.0.0.0x1', false, 'loopback, mixed'],
  ['１２７.0.0.1', false, 'loopback, full-width digits'],
  ['127。0。0。1', false, 'loopback, ideographic dots'],
  ['%31%32%37.0.0.1', false, 'loopback, percent-encoded'],
  ['0', false, 'this host'],
  ['0.0.0.0', false, 'this host'],
  ['0.1.2.3', false, 'this network'],
  ['10.0.0.1', false, 'private'],
  ['10.255.255.255', false, 'private'],
  ['0xa.1', false, 'private, hex'],
  ['172.16.0.1', false, 'private'],
  ['172.31.255.255', false, 'private'],
  ['192.168.0.1', false, 'private'],
  ['3232235521', false, 'private, decimal'],
  ['0300.0250.0.1', false, 'private, octal'],
  ['100.64.0.1', false, 'shared (CGNAT)'],
  ['100.127.255.255', false, 'shared (CGNAT)'],
  ['100.100.100.200', false, 'metadata (Alibaba)'],
  ['169.254.169.254', false, 'metadata (AWS, GCP, Azure)'],
  ['2852039166', false, 'metadata, decimal'],
  ['0xa9fea9fe', false, 'metadata, hex'],
  ['169.254.170.2', false, 'metadata (ECS)'],
  ['168.63.129.16', false, 'wire server (Azure)'],
  ['192.0.0.192', false, 'metadata (Oracle)'],
  ['192.0.2.1', false, 'documentation'],
  ['198.51.100.7', false, 'documentation'],
  ['203.0.113.9', false, 'documentation'],
  ['192.88.99.1', false, '6to4 relay'],
  ['198.18.0.1', false, 'benchmarking'],
  ['198.19.255.255', false, 'benchmarking'],
  ['224.0.0.1', false, 'multicast'],
  ['239.255.255.255', false, 'multicast'],
  ['240.0.0.1', false, 'reserved'],
  ['255.255.255.255', false, 'broadcast'],
  ['[::]', false, 'unspecified'],
  ['[::1]', false, 'loopback'],
  ['[0:0:0:0:0:0:0:1]', false, 'loopback, long'],
  ['[::127.0.0.1]', false, 'IPv4-compatible'],
  ['[::ffff:127.0.0.1]', false, 'IPv4-mapped'],
  ['[::ffff:7f00:1]', false, 'IPv4-mapped, hex'],
  ['[::ffff:a9fe:a9fe]', false, 'IPv4-mapped metadata'],
  ['[::ffff:8.8.8.8]', false, 'IPv4-mapped, whatever is in it'],
  ['[::ffff:0:127.0.0.1]', false, 'IPv4-translated'],
  ['[64:ff9b::7f00:1]', false, 'NAT64'],
  ['[64:ff9b:1::a00:1]', false, 'NAT64, local use'],
  ['[2002:7f00:1::]', false, '6to4 of loopback'],
  ['[2002:a00:1::1]', false, '6to4 of a private address'],
  ['[2001:0:53aa:64c::1]', false, 'Teredo'],
  ['[fe80::1]', false, 'link-local'],
  ['[febf::1]', false, 'link-local'],
  ['[fec0::1]', false, 'site-local'],
  ['[fc00::1]', false, 'unique local'],
  ['[fd00:ec2::254]', false, 'metadata (AWS)'],
  ['[fd12:3456:789a::1]', false, 'unique local'],
  ['[ff02::1]', false, 'multicast'],
  ['[100::1]', false, 'discard'],
  ['[2001:db8::1]', false, 'documentation'],
  ['[3fff::1]', false, 'documentation'],
  ['[2001:2::1]', false, 'benchmarking'],
  ['[4000::1]', false, 'not given out by IANA'],
  ['[5f00::1]', false, 'segment routing'],
  ['[fe80::1%25eth0]', false, 'no zones in urls'],
  ['256.256.256.256', false, 'no address and no name'],
  ['1.2.3.4.5', false, 'no address and no name'],
  ['0x', false, 'an empty hex number is zero'],
];

describe('public addresses', () => {
  for (const [host, accepted, why] of HOSTS) {
    it(`${accepted ? 'accepts' : 'refuses'} https://${host}/mcp: ${why}`, () => {
      const parse = (): URL => parseServerUrl(`https://${host}/mcp`, []);
      if (accepted) expect(parse().protocol).to.equal('https:');
      else expect(parse).to.throw().with.property('type', 'invalid_mcp_server_url');
    });
  }

  it('the check of public addresses accepts only the canonical spelling of an address', () => {
    for (const address of ['0177.0.0.1', '8.8.8', '134744072', '0x8.8.8.8', '08.8.8.8', 'localhost', '', '8.8.8.8 ']) {
      expect(isPublicAddress(address), address).to.equal(false);
    }
  });

  it('the check of public addresses never accepts an IPv6 address that carries an IPv4 address', () => {
    fc.assert(
      fc.property(fc.constantFrom('::ffff:', '::', '64:ff9b::', '::ffff:0:'), fc.ipV4(), (prefix, v4) => {
        expect(isPublicAddress(`${prefix}${v4}`)).to.equal(false);
      }),
    );
  });

  it('the check of public addresses never accepts an IPv6 address outside of 2000::/3', () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        if (isPublicAddress(address)) expect(new URL(`http://[${address}]`).hostname).to.match(/^\[[23]/);
      }),
    );
  });
});

describe('urls of MCP servers', () => {
  const REFUSED: [url: string, why: string][] = [
    ['', 'empty'],
    ['mcp', 'no url'],
    ['/mcp', 'relative'],
    ['//example.com/mcp', 'no scheme'],
    ['https:example.com', 'no slashes'],
    ['https://', 'no host'],
    ['https:///mcp', 'no host'],
    ['http://example.com/mcp', 'not https'],
    ['ftp://example.com/mcp', 'not https'],
    ['file:///etc/passwd', 'not https'],
    ['javascript://example.com/%0aalert(1)', 'not https'],
    ['https://user@example.com/mcp', 'user name'],
    ['https://user:secret@example.com/mcp', 'user name and password'],
    ['https://:secret@example.com/mcp', 'password'],
    ['https://@example.com/mcp', 'an empty user name'],
    ['https://example.com:99999/mcp', 'no port'],
    [' https://example.com/mcp', 'a space in front'],
    ['https://example.com/mcp\n', 'a line break at the end'],
    ['https://exa\tmple.com/mcp', 'a tab that the parser would drop'],
    ['https:\\\\example.com\\mcp', 'backslashes that the parser would turn'],
    ['https://example.com\\@127.0.0.1/', 'a backslash that hides the host'],
  ];
  for (const [url, why] of REFUSED) {
    it(`the check of MCP server urls refuses ${JSON.stringify(url)}: ${why}`, () => {
      expect(() => parseServerUrl(url, []))
        .to.throw()
        .with.property('type', 'invalid_mcp_server_url');
    });
  }

  it('the check of MCP server urls exempts exactly the allowed host and port', () => {
    const allowed = ['127.0.0.1:9000', '[::1]:9000', 'mcp.internal:80', 'localhost:443'];
    for (const url of [
      'http://127.0.0.1:9000/mcp',
      'https://127.0.0.1:9000/',
      'http://2130706433:9000/',
      'http://[::1]:9000/mcp',
      'http://[0:0:0:0:0:0:0:1]:9000/mcp',
      'http://MCP.internal/mcp',
      'https://localhost/mcp',
    ]) {
      expect(parseServerUrl(url, allowed), url).to.be.instanceOf(URL);
    }
    for (const url of [
      'http://127.0.0.1:9001/mcp',
      'http://127.0.0.2:9000/mcp',
      'http://127.0.0.1/mcp',
      'https://127.0.0.1/mcp',
      'http://a.mcp.internal/mcp',
      'http://mcp.internal.:80/mcp',
      'http://localhost/mcp',
      'http://user@127.0.0.1:9000/mcp',
      'ftp://127.0.0.1:9000/mcp',
    ]) {
      expect(() => parseServerUrl(url, allowed), url)
        .to.throw()
        .with.property('type', 'invalid_mcp_server_url');
    }
  });
});
