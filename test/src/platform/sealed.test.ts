import { expect } from 'chai';
import fc from 'fast-check';
import { isSealedWithNewest, seal, unseal, UnsealError } from '../../../src/platform/sealed.js';

const OLD = Buffer.alloc(32, 1);
const NEW = Buffer.alloc(32, 2);
const COLUMN = 'mcp_servers.credential';

describe('sealed secrets', () => {
  it('sealed secrets open again, whatever they are', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (secret) => {
        expect(unseal([NEW], COLUMN, 'mcp_a', seal([NEW], COLUMN, 'mcp_a', secret))).to.equal(secret);
      }),
    );
  });

  it('sealed secrets differ each time and do not contain the secret', () => {
    const [one, two] = [seal([NEW], COLUMN, 'mcp_a', 'secret'), seal([NEW], COLUMN, 'mcp_a', 'secret')];
    expect(one).not.to.equal(two);
    expect(Buffer.from(one, 'base64').toString('latin1')).not.to.include('secret');
  });

  it('sealed secrets open with an older key of the list, and show that it is an older one', () => {
    const sealed = seal([OLD], COLUMN, 'mcp_a', 'secret');
    expect(unseal([NEW, OLD], COLUMN, 'mcp_a', sealed)).to.equal('secret');
    expect(isSealedWithNewest([NEW, OLD], sealed)).to.equal(false);
    expect(isSealedWithNewest([NEW, OLD], seal([NEW, OLD], COLUMN, 'mcp_a', 'secret'))).to.equal(true);
  });

  for (const [title, row, key] of [
    ['in another row', 'mcp_b', NEW],
    ['without their key', 'mcp_a', OLD],
  ] as const) {
    it(`sealed secrets do not open ${title}`, () => {
      expect(() => unseal([NEW], COLUMN, row, seal([key], COLUMN, 'mcp_a', 'secret'))).to.throw(UnsealError);
    });
  }

  it('sealed secrets do not open when any character of them is altered', () => {
    const sealed = seal([NEW], COLUMN, 'mcp_a', 'secret');
    for (let at = 0; at < sealed.length; at += 1) {
      const altered = `${sealed.slice(0, at)}${sealed[at] === 'A' ? 'B' : 'A'}${sealed.slice(at + 1)}`;
      const opened = (): string => unseal([NEW], COLUMN, 'mcp_a', altered);
      expect(opened, `character ${at}`).to.throw(UnsealError);
    }
  });
});
