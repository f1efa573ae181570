import { expect } from 'chai';
import fc from 'fast-check';
import { toolAliases } from '../../../src/models/aliases.js';

const API_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

describe('aliases of tool names', () => {
  it('aliases of tool names are the names themselves if the API accepts them', () => {
    const { toModel, toFull } = toolAliases(['use_skill', 'mcp__a-b__search']);
    expect(toModel('mcp__a-b__search')).to.equal('mcp__a-b__search');
    expect(toFull('mcp__a-b__search')).to.equal('mcp__a-b__search');
    expect(toFull('made_up')).to.equal(undefined);
  });

  it('aliases of tool names are readable, short and the same in every request', () => {
    const name = `mcp__files__read.file/${'x'.repeat(100)}`;
    const alias = toolAliases([name]).toModel(name);
    expect(alias)
      .to.match(API_NAME)
      .and.match(/^mcp__files__read_file_x+_[0-9a-f]{12}$/);
    expect(toolAliases(['other', name, 'mcp__s__ü']).toModel(name)).to.equal(alias);
    expect(toolAliases([]).toModel(name), 'also when it is offered no more').to.equal(alias);
  });

  it('aliases of tool names give way to a tool that really has that name', () => {
    const name = 'mcp__s__with space';
    const alias = toolAliases([name]).toModel(name);
    const both = toolAliases([name, alias]);
    expect(both.toModel(alias)).to.equal(alias);
    expect(both.toModel(name)).not.to.equal(alias);
    expect(both.toFull(both.toModel(name))).to.equal(name);
  });

  it('aliases of tool names are unique and lead back, whatever the names', () => {
    const names = fc.uniqueArray(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }), { maxLength: 60 });
    fc.assert(
      fc.property(names, (tools) => {
        const full = tools.map((tool) => `mcp__s__${tool}`);
        const aliases = toolAliases(full);
        const given = full.map((name) => aliases.toModel(name));
        expect(new Set(given).size).to.equal(full.length);
        for (const [index, alias] of given.entries()) {
          expect(alias).to.match(API_NAME);
          expect(aliases.toFull(alias)).to.equal(full[index]);
        }
      }),
    );
  });
});
