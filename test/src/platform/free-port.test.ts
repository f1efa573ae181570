import { expect } from 'chai';
import { freePort, portRange } from '../../../src/platform/free-port.js';

describe('a free port', () => {
  it('a free port is outside of the ephemeral range, where outgoing connections take ports', () => {
    expect(portRange('32768\t60999\n')).to.deep.equal([20_000, 32_767]);
    expect(portRange('49152 65535')).to.deep.equal([20_000, 49_151]);
    expect(portRange('15000 65535')).to.deep.equal([1024, 14_999]);
    expect(portRange('1024 60000')).to.deep.equal([60_001, 65_535]);
    expect(portRange('1024 65535'), 'no room').to.equal(null);
  });

  it('a free port is the preferred one, unless that is taken or excluded', async () => {
    const port = await freePort();
    expect(await freePort(port, { exclude: [port] })).to.not.equal(port);
  });
});
