import { expect } from 'chai';
import { takeKeys, type Tab } from '../../console/src/client/key.js';

/** A tab at an address, with the key that it has. */
function tabAt(address: string, key: string | null): Tab {
  const stored = new Map(key === null ? [] : [['api-key', key]]);
  const location = new URL(address);
  return {
    location,
    history: { replaceState: (_state, _unused, hash) => void (location.hash = hash) },
    sessionStorage: {
      getItem: (name) => stored.get(name) ?? null,
      setItem: (name, value) => void stored.set(name, value),
      clear: () => stored.clear(),
    },
  };
}
const keyOf = (tab: Tab): string | null => tab.sessionStorage.getItem('api-key');

describe('the key in a link to the console', () => {
  it('the key in a link to the console is taken without asking by a tab without a key, on an address of this computer alone', () => {
    for (const host of ['127.0.0.1:8080', 'localhost', '[::1]:8080', '127.1.2.3']) {
      const tab = tabAt(`http://${host}/console/#key=ask_a%2Db`, null);
      expect(takeKeys(tab), host).to.deep.equal({ key: 'ask_a-b', offered: null });
      expect(keyOf(tab)).to.equal('ask_a-b');
    }
    for (const host of ['agents.example.com', '127.0.0.1.example.com', 'localhost.example.com', '10.0.0.1']) {
      const tab = tabAt(`https://${host}/console/#key=ask_a`, null);
      expect(takeKeys(tab), host).to.deep.equal({ key: null, offered: 'ask_a' });
      expect(keyOf(tab)).to.equal(null);
    }
  });

  it('the key in a link to the console never replaces another key by itself', () => {
    const tab = tabAt('http://127.0.0.1:8080/console/#key=ask_theirs', 'ask_mine');
    expect(takeKeys(tab)).to.deep.equal({ key: 'ask_mine', offered: 'ask_theirs' });
    expect(keyOf(tab)).to.equal('ask_mine');
  });

  it('the key in a link to the console leaves the address at once, and changes nothing where it is the key of the tab or none', () => {
    for (const hash of ['#key=ask_mine', '#key=', '#key=%zz', '#/sessions']) {
      const tab = tabAt(`https://agents.example.com/console/${hash}`, 'ask_mine');
      expect(takeKeys(tab), hash).to.deep.equal({ key: 'ask_mine', offered: null });
      expect(tab.location.hash).to.equal('#/sessions');
    }
  });
});
