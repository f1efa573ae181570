import { expect } from 'chai';
import fc from 'fast-check';
import { ServiceError } from '../../../src/platform/errors.js';
import { openStorage } from '../../../src/files/open-storage.js';
import { readSkillMd } from '../../../src/skills/frontmatter.js';
import { startService } from '../../support/service.js';
import { bundleOf, skillMd, zip, type ZipEntry } from './zip.js';

/** More by hand: FUZZ_RUNS=100000 npx mocha test/src/skills/fuzz.long.test.ts */
const RUNS = Number(process.env.FUZZ_RUNS ?? 400);
const MAX_DURATION_MS = 2000;

const ENTRIES: ZipEntry[] = [
  { name: 'demo/' },
  { name: 'demo/SKILL.md', content: skillMd() },
  { name: 'demo/a/data.bin', content: Buffer.alloc(70_000, 'abc') },
  { name: 'demo/empty', content: '' },
];
const SEEDS = [
  zip(ENTRIES),
  zip(ENTRIES.map((entry) => ({ ...entry, dataDescriptor: true, flags: 0 }))),
  zip(
    ENTRIES.map((entry) => ({ ...entry, zip64: true })),
    { zip64End: true, comment: 'x' },
  ),
  zip(ENTRIES.map((entry) => ({ ...entry, method: 0, mode: 0o100644 }))),
];

/** Any input ends soon, as a skill or as an error for the client. */
async function settles(work: () => Promise<void> | void): Promise<void> {
  const start = process.cpuUsage();
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    expect(error.type).to.be.oneOf(['invalid_skill_bundle', 'skill_bundle_too_large']);
    expect(error.message).to.have.length.below(1000);
    expect(error.message.isWellFormed()).to.equal(true);
  }
  const { user, system } = process.cpuUsage(start);
  expect((user + system) / 1000).to.be.below(MAX_DURATION_MS);
}

async function readsOrRefuses(archive: Buffer): Promise<void> {
  await settles(async () => {
    const bundle = await bundleOf(archive);
    expect(bundle.bytes).to.have.length(bundle.sizeBytes);
    expect(bundle.files.map(({ path }) => path)).to.include('SKILL.md');
  });
}

/** Places where a flipped byte means something: the records, not the data between them. */
function recordBytes(archive: Buffer): number[] {
  const places: number[] = [];
  for (let at = archive.indexOf('PK'); at !== -1; at = archive.indexOf('PK', at + 1)) {
    for (let byte = at; byte < Math.min(archive.length, at + 70); byte += 1) places.push(byte);
  }
  return places;
}

const seed = fc.constantFrom(...SEEDS);
const byte = fc.integer({ min: 0, max: 255 });
const telling = fc.oneof(byte, fc.constantFrom(0, 1, 8, 0x2e, 0x2f, 0x5c, 0x7f, 0x80, 0xff));

describe('fuzzed skill packages', function () {
  this.timeout(RUNS * 500);

  it('the reader of fuzzed skill packages settles whatever records are changed', async () => {
    const change = fc.record({ place: fc.nat(), value: telling });
    await fc.assert(
      fc.asyncProperty(seed, fc.array(change, { minLength: 1, maxLength: 6 }), async (archive, changes) => {
        const mutated = Buffer.from(archive);
        const places = recordBytes(archive);
        for (const { place, value } of changes) mutated[places[place % places.length]!] = value;
        await readsOrRefuses(mutated);
      }),
      { numRuns: RUNS },
    );
  });

  it('the reader of fuzzed skill packages settles whatever is cut out, put in or swapped', async () => {
    await fc.assert(
      fc.asyncProperty(
        seed,
        seed,
        fc.nat(),
        fc.nat(),
        fc.uint8Array({ maxLength: 64 }),
        async (one, other, first, second, inserted) => {
          const at = first % one.length;
          const tail = other.subarray(second % other.length);
          await readsOrRefuses(Buffer.concat([one.subarray(0, at), inserted, tail]));
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('the reader of fuzzed skill packages settles whatever entries are packed', async () => {
    const name = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 12 }),
      fc
        .array(fc.constantFrom('a', 'A', 'é', 'SKILL.md', '..', '.', '/', '\\', ':', '\0', '__MACOSX', '.DS_Store'), {
          maxLength: 6,
        })
        .map((parts) => parts.join('')),
      fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
    );
    const entry: fc.Arbitrary<ZipEntry> = fc.record(
      {
        name,
        content: fc.oneof(fc.constant(skillMd()), fc.string({ maxLength: 40 })),
        method: fc.constantFrom(0, 8),
        flags: fc.constantFrom(0, 0x800),
        mode: fc.constantFrom(0, 0o100644, 0o040755, 0o120777),
        dataDescriptor: fc.boolean(),
        zip64: fc.boolean(),
        extra: fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
      },
      { requiredKeys: ['name'] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 8 }), fc.boolean(), async (entries, zip64End) => {
        await readsOrRefuses(zip([{ name: 'SKILL.md', content: skillMd() }, ...entries], { zip64End }));
      }),
      { numRuns: RUNS },
    );
  });

  it('the reader of fuzzed skill packages answers 201 or 4xx through HTTP, and keeps one object for each skill', async () => {
    const service = await startService();
    try {
      await fc.assert(
        fc.asyncProperty(seed, fc.array(fc.tuple(fc.nat(), telling), { maxLength: 3 }), async (archive, changes) => {
          const mutated = new Uint8Array(archive);
          const places = recordBytes(archive);
          for (const [place, value] of changes) mutated[places[place % places.length]!] = value;
          const form = new FormData();
          form.set('file', new Blob([mutated]), 'demo.zip');
          const { status, body } = await service.api('POST', '/v1/skills', form);
          expect(status, JSON.stringify(body)).to.be.oneOf([201, 409, 413, 422]);
        }),
        { numRuns: Math.ceil(RUNS / 4) },
      );
      const { body: page } = await service.api('GET', '/v1/skills?limit=100');
      let objects = 0;
      for await (const _ of (await openStorage(service.config)).list('skills/')) objects += 1;
      expect(objects).to.equal(page.items.length).and.to.be.above(0);
    } finally {
      await service.close();
    }
  });

  it('the reader of fuzzed skill packages settles whatever the frontmatter is', async () => {
    const token = fc.constantFrom(
      ...[
        'name: a',
        'name:',
        'description:',
        'x',
        '"',
        "'",
        '\n',
        '\n',
        '---',
        '...',
        ': ',
        '- ',
        '? ',
        '[',
        ']',
        '{',
        '}',
      ],
      ...[
        '&a ',
        '*a',
        '!!str ',
        '!x ',
        '|',
        '>',
        '#',
        ',',
        '\t',
        '  ',
        '%YAML 1.1\n',
        '<<: ',
        '\\u0000',
        '\r\n',
        '\u2028',
        '~',
      ],
    );
    const yaml = fc.oneof(
      fc.array(token, { maxLength: 60 }).map((tokens) => tokens.join('')),
      fc.string({ unit: 'binary', maxLength: 200 }),
    );
    await fc.assert(
      fc.asyncProperty(yaml, fc.boolean(), async (text, framed) => {
        const content = Buffer.from(framed ? `---\n${text}\n---\n` : text);
        await settles(() => {
          const { name, description } = readSkillMd(content);
          expect(name).to.match(/^[a-z0-9]+(-[a-z0-9]+)*$/);
          expect([...description].length).to.be.at.most(1024);
        });
      }),
      { numRuns: RUNS * 10 },
    );
  });
});
