import contentDispositionLibrary from 'content-disposition';
import { expect } from 'chai';
import fc from 'fast-check';
import { contentDisposition, mimeTypeOf } from '../../../src/files/filename.js';

describe('file names', () => {
  it('file names give the type by their extension', () => {
    const types = {
      'a.CSV': 'text/csv',
      'a.tar.gz': 'application/gzip',
      'a.docx': 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
      'a.unknown-thing': 'application/octet-stream',
      html: 'application/octet-stream',
      'a.': 'application/octet-stream',
    };
    for (const [name, type] of Object.entries(types)) expect(mimeTypeOf(name), name).to.equal(type);
  });

  it('file names come through Content-Disposition as they are, whatever they hold', () => {
    const name = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 50 })
      .map((text) => text.replace(/[/\\\p{Cc}]/gu, '_').toWellFormed());
    fc.assert(
      fc.property(name, (filename) => {
        const header = contentDisposition(filename);
        expect(header)
          .to.match(/^attachment; /)
          .and.match(/filename\*=UTF-8''[!#$%&+\-^_`|~.0-9A-Za-z]+/);
        expect(header).to.match(/^[\x20-\x7e]+$/);
        expect(contentDispositionLibrary.parse(header).parameters.filename).to.equal(filename);
      }),
    );
  });
});
