import { expect } from 'chai';
import { decodeEntities } from '../../console/src/markdown/entities.js';
import { safeHref } from '../../console/src/markdown/links.js';

describe("the console's Markdown", () => {
  it('the console’s Markdown links to http, https and mailto, and to nothing else', () => {
    for (const href of ['https://example.com/a?b#c', 'http://example.com', 'mailto:a@example.com']) {
      expect(safeHref(href), href).to.equal(href);
    }
    const refused = [
      'javascript:alert(1)',
      ' JaVaScRiPt:alert(1)',
      'data:text/html,x',
      'vbscript:x',
      'file:///etc',
      '//x',
      'a',
    ];
    for (const href of refused) expect(safeHref(href), href).to.equal(null);
  });

  it('the console’s Markdown reads entities as characters', () => {
    expect(decodeEntities('&lt;b&gt; &amp;amp; &#65;&#x1F600; &unknown; &#0;')).to.equal(
      '<b> &amp; A😀 &unknown; &#0;',
    );
  });
});
