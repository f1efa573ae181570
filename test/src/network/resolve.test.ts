import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { expect } from 'chai';
import { createResolve } from '../../../src/network/resolve.js';

describe('resolving names of MCP servers', () => {
  it('resolving names of MCP servers leaves the threads of the process free while a name server is silent', async () => {
    const silent = createSocket('udp4').bind(0, '127.0.0.1');
    await once(silent, 'listening');
    const resolve = createResolve([`127.0.0.1:${silent.address().port}`]);
    let resolved = 0;
    const dead = Array.from({ length: 50 }, (_, n) =>
      resolve(`dead-${n}.example`).catch((error: { code: string }) => {
        resolved += 1;
        return error.code;
      }),
    );
    await Promise.all([lookup('localhost'), stat('.'), lookup('localhost'), stat('/')]);
    expect(resolved, 'before any of the dead names was given up').to.equal(0);
    expect(new Set(await Promise.all(dead))).to.deep.equal(new Set(['EAI_AGAIN']));
    silent.close();
  });
});
