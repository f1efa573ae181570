import { expect } from 'chai';
import { ServiceError } from '../../../src/platform/errors.js';
import { readSkillMd, type SkillMd } from '../../../src/skills/frontmatter.js';

const read = (text: string | Buffer): SkillMd => readSkillMd(Buffer.from(text));
const withYaml = (yaml: string): string => `---\n${yaml}\n---\nbody\n`;

function refusal(text: string | Buffer): string {
  try {
    read(text);
  } catch (error) {
    expect(error).to.be.instanceOf(ServiceError).with.property('type', 'invalid_skill_bundle');
    return (error as ServiceError).message;
  }
  throw new Error('it was accepted');
}

describe('SKILL.md', () => {
  it('SKILL.md gives name, description and the instructions after the frontmatter', () => {
    expect(
      read('---\nname: pdf-tools\ndescription: "Reads: PDF"\nlicense: MIT\n---\n\n# Title\n---\nend'),
    ).to.deep.equal({
      name: 'pdf-tools',
      description: 'Reads: PDF',
      body: '# Title\n---\nend',
    });
  });

  it('SKILL.md accepts a byte order mark, CRLF, blanks after the markers and no body', () => {
    expect(read('\uFEFF---\r\nname: a\r\ndescription: one\r\n---\r\n\r\nText\r\n')).to.deep.equal({
      name: 'a',
      description: 'one',
      body: 'Text\r\n',
    });
    expect(read('--- \nname: a\n---\t')).to.deep.equal({ name: 'a', description: '', body: '' });
  });

  it('SKILL.md takes YAML as people write it: folded text, anchors, tags of the core schema, nested metadata', () => {
    expect(read(withYaml('name: a\ndescription: >-\n  one\n  two')).description).to.equal('one two');
    expect(read(withYaml('name: &n a\ndescription: *n')).description).to.equal('a');
    expect(read(withYaml('name: !!str 42\nmetadata:\n  tags: [x, y]\n  n: {a: 1}')).name).to.equal('42');
    expect(read(withYaml('name: 2024-01-01')).name).to.equal('2024-01-01');
  });

  for (const name of ['a', '7', 'a-b-c', 'x'.repeat(64), '"1"']) {
    it(`SKILL.md accepts the name ${name}`, () => {
      const valid = name === '7' ? '"7"' : name;
      expect(read(withYaml(`name: ${valid}`)).name).to.equal(valid.replaceAll('"', ''));
    });
  }

  const badNames = ['A', 'a_b', '-a', 'a-', 'a--b', 'é', 'a b', 'x'.repeat(65), '""', '"a\\n"', 'a/b', '"a\\0"'];
  for (const name of badNames) {
    it(`SKILL.md refuses the name ${JSON.stringify(name)}`, () => {
      expect(refusal(withYaml(`name: ${name}`))).to.match(/name in SKILL.md must have 1 to 64 characters/);
    });
  }

  for (const name of ['7', 'true', 'null', '', '[a]', '{a: b}', '~']) {
    it(`SKILL.md refuses a name that is no string: ${name}`, () => {
      expect(refusal(withYaml(`name: ${name}`))).to.match(/must be a string/);
    });
  }

  it('SKILL.md counts the description in code points, at most 1,024', () => {
    expect(read(withYaml(`name: a\ndescription: ${'🙂'.repeat(1024)}`)).description).to.have.length(2048);
    expect(refusal(withYaml(`name: a\ndescription: ${'x'.repeat(1025)}`))).to.match(/longer than 1024/);
  });

  for (const description of ['null', '', '~', '# none']) {
    it(`SKILL.md stores no description as empty: ${description}`, () => {
      expect(read(withYaml(`name: a\ndescription: ${description}`)).description).to.equal('');
    });
  }

  for (const description of ['7', '[a]', 'false']) {
    it(`SKILL.md refuses a description that is no string: ${description}`, () => {
      expect(refusal(withYaml(`name: a\ndescription: ${description}`))).to.match(/description.*must be a string/);
    });
  }

  it('SKILL.md refuses text that neither Postgres nor JSON can carry', () => {
    expect(refusal(withYaml('name: a\ndescription: "a\\0b"'))).to.match(/NUL/);
    expect(refusal(withYaml('name: a\ndescription: "\\ud800"'))).to.match(/surrogate/);
    expect(refusal(`${withYaml('name: a')}\0`)).to.match(/NUL/);
    expect(refusal(Buffer.from([...Buffer.from(withYaml('name: a')), 0xff]))).to.match(/not UTF-8/);
    expect(refusal(Buffer.from(`\uFEFF${withYaml('name: a')}`, 'utf16le'))).to.match(/not UTF-8/);
  });

  const unusable: [string, string, RegExp][] = [
    ['no frontmatter', '# Title\n', /no frontmatter/],
    ['an empty file', '', /no frontmatter/],
    ['a frontmatter that does not end', '---\nname: a\n', /does not end/],
    ['four dashes at the end', '---\nname: a\n----\n', /does not end/],
    ['a frontmatter without a name', withYaml('description: x'), /no name/],
    ['an empty frontmatter', '---\n---\n', /must be a YAML mapping/],
    ['a list', withYaml('- name: a'), /must be a YAML mapping/],
    ['a name twice', withYaml('name: a\nname: b'), /"name" twice/],
    ['broken YAML', withYaml('name: "a'), /not valid YAML/],
    ['two documents', withYaml('name: a\n...\nname: b'), /more than one YAML document/],
    ['a tag of its own', withYaml('name: a\nx: !!js/function "alert()"'), /not valid YAML/],
    ['a tagged name', withYaml('name: !secret a'), /not valid YAML/],
    ['an unknown alias', withYaml('name: a\ndescription: *nobody'), /must be a string/],
  ];
  for (const [what, text, message] of unusable) {
    it(`SKILL.md refuses ${what}`, () => {
      expect(refusal(text)).to.match(message);
    });
  }

  for (const [yaml, description] of [
    ['description: Use when: the user asks', 'Use when: the user asks'],
    ['description: [beta] Reads PDF', '[beta] Reads PDF'],
    ['description: @mention reader', '@mention reader'],
    ['description: %d of %s', '%d of %s'],
    ['description: `pdf` reader', '`pdf` reader'],
    ['description: *Reads* PDF', '*Reads* PDF'],
    ['description: {x} y', '{x} y'],
    ['description: - one', '- one'],
    ['description: "PDF" reader', '"PDF" reader'],
    ["description: It's: fine\r", "It's: fine"],
    ['description: Use when: the user\n  asks: for it\nlicense: MIT', 'Use when: the user asks: for it'],
    ['license: MIT: see LICENSE\ndescription: Use: x\nmetadata:\n  author: a: b', 'Use: x'],
  ]) {
    it(`SKILL.md may have a value without its quotes: ${JSON.stringify(yaml).slice(0, 60)}`, () => {
      expect(read(withYaml(`name: a\n${yaml}`))).to.include({ name: 'a', description });
    });
  }

  for (const [yaml, message] of [
    ['description: "Use when: x', /in the value of "description" in line 3: .*Put the value in quotes/],
    ['x:\n  author: !who me', /in the value of "author" in line 4: Unresolved tag/],
    ['\tdescription: x', /in line 3: Tabs are not allowed/],
    ['description: "a\n  b', /in the value of "description" in line 3/],
    ['license: Use: a\nx: !who me', /in the value of "x" in line 4/],
  ] as const) {
    it(`SKILL.md is refused with the field and its line: ${JSON.stringify(yaml)}`, () => {
      expect(refusal(withYaml(`name: a\n${yaml}`))).to.match(message);
    });
  }

  const hostile: [string, string][] = [
    ['8,000 values that need quotes', Array.from({ length: 8000 }, (_, i) => `k${i}: a: b`).join('\n')],
    ['a value of blanks that needs quotes', `name: a:${' '.repeat(60_000)}x: y`],
    [
      'aliases that multiply',
      `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghij'.replace(/./g, (c) => `${c}: &${c} [${`*${String.fromCharCode(c.charCodeAt(0) - 1)},`.repeat(9)}]\n`)}name: *j`,
    ],
    ['brackets nested 32,000 deep', `name: ${'['.repeat(32_000)}`],
    ['mappings nested 16,000 deep', `name: ${'{a: '.repeat(8_000)}`],
    ['sequences nested in lines', `x:\n${Array.from({ length: 250 }, (_, i) => `${' '.repeat(i)}-`).join('\n')}`],
    ['complex keys in a row', '? '.repeat(16_000)],
    ['dashes in a row', `- `.repeat(16_000)],
    ['8,000 keys', Array.from({ length: 6000 }, (_, i) => `${i.toString(36)}:`).join('\n')],
    ['10,000 anchors and aliases', `x: [${'&a b, *a, '.repeat(3000)}]`],
    ['a long flow of quotes', `name: ${'"" '.repeat(10_000)}`],
    ['a long block of blanks', `name: |\n${' \n'.repeat(16_000)}`],
  ];
  for (const [what, yaml] of hostile) {
    it(`SKILL.md is done with ${what} within a second of work`, () => {
      const start = process.cpuUsage();
      refusal(withYaml(yaml));
      const { user, system } = process.cpuUsage(start);
      expect((user + system) / 1000).to.be.below(1000);
    });
  }
});
