/**
 * `npm run release -- --dry-run [--image] [--out FOLDER]`: makes everything of a release from the commit that is checked out, twice, and
 * fails if the two differ. Without --dry-run it also wants a clean checkout and a changelog with the date, and sets the tag. It publishes
 * nothing: the notes end with the commands that do.
 */
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { VERSION } from '../../src/platform/version.js';
import { placeholders } from './placeholders.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A file of the release; null: it cannot be made here, for this reason. */
type Artefact = { name: string; make: (source: string, out: string) => string | null };

const run = (cwd: string, command: string, ...args: string[]): string =>
  execFileSync(command, args, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, SOURCE_DATE_EPOCH: epoch },
  }).trim();
const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 28 }).trim();
const commit = git('rev-parse', 'HEAD');
/** The time of every file in an archive: that of the commit. */
const epoch = git('log', '-1', '--format=%ct');

/** The same files give the same bytes. */
function archive(cwd: string, folder: string, out: string): void {
  const tar = run(
    cwd,
    'sh',
    '-c',
    `tar --sort=name --mtime=@${epoch} --owner=0 --group=0 --numeric-owner --format=gnu -c '${folder}' | gzip -n -9 > '${out}'`,
  );
  if (tar !== '') throw new Error(tar);
}

const ARTEFACTS: Artefact[] = [
  {
    name: `agent-session-service-${VERSION}.tar.gz`,
    make(source, out) {
      const prefix = `agent-session-service-${VERSION}`;
      const work = mkdtempSync(join(tmpdir(), 'release-source-'));
      execFileSync('sh', ['-c', `git archive --prefix='${prefix}/' ${commit} | tar -x -C '${work}'`], { cwd: ROOT });
      archive(work, prefix, out);
      rmSync(work, { recursive: true });
      return source;
    },
  },
  {
    name: `agent-session-service-chart-${VERSION}.tgz`,
    make(source, out) {
      archive(join(source, 'deploy', 'helm'), 'agent-session-service', out);
      return source;
    },
  },
  {
    name: `agent-session-service-client-${VERSION}.tgz`,
    make(source, out) {
      const folder = mkdtempSync(join(tmpdir(), 'release-client-'));
      const [{ filename }] = JSON.parse(
        run(join(source, 'client'), 'npm', 'pack', '--pack-destination', folder, '--json', '--silent'),
      ) as [{ filename: string }];
      cpSync(join(folder, filename), out);
      rmSync(folder, { recursive: true });
      return filename;
    },
  },
  { name: `agent_session_service-${VERSION}-py3-none-any.whl`, make: makeWheel },
  {
    name: `openapi-${VERSION}.json`,
    make(source, out) {
      cpSync(join(source, 'api', 'openapi.json'), out);
      return source;
    },
  },
  {
    name: `sbom-${VERSION}.cdx.json`,
    make(source, out) {
      const sbom = JSON.parse(
        run(source, 'npm', 'sbom', '--package-lock-only', '--omit=dev', '--sbom-format=cyclonedx'),
      ) as { serialNumber?: string; metadata: { timestamp?: string } };
      // They differ with each call.
      delete sbom.serialNumber;
      delete sbom.metadata.timestamp;
      writeFileSync(out, `${JSON.stringify(sbom, null, 2)}\n`);
      return out;
    },
  },
];

/** The client for Python, of the folder python; the place where its build is called. */
function makeWheel(source: string, out: string): string | null {
  if (!existsSync(join(source, 'python', 'pyproject.toml'))) return null;
  const folder = mkdtempSync(join(tmpdir(), 'release-wheel-'));
  run(source, 'python3', '-m', 'pip', 'wheel', '--quiet', '--no-deps', '--wheel-dir', folder, './python');
  const [wheel] = readdirSync(folder).filter((name) => name.endsWith('.whl'));
  renameSync(join(folder, wheel!), out);
  return wheel!;
}

/** A checkout of the commit, apart from this one: what is not committed is not in the release. */
function checkOut(): string {
  // npm names a list of contents after its folder.
  const folder = join(mkdtempSync(join(tmpdir(), 'release-')), 'agent-session-service');
  mkdirSync(folder);
  execFileSync('sh', ['-c', `git archive ${commit} | tar -x -C '${folder}'`], { cwd: ROOT });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  run(folder, process.execPath, '--import', 'tsx', 'dev/scripts/openapi-document.ts');
  run(folder, process.execPath, '--import', 'tsx', 'client/generate.ts');
  return folder;
}

const sha256 = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

/** Faults that keep the commit from being released. */
function faults(): string[] {
  const found: string[] = [];
  const of = (path: string): unknown =>
    (JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as { version: string }).version;
  for (const path of ['package.json', 'package-lock.json', 'client/package.json']) {
    if (of(path) !== VERSION) found.push(`${path} has ${String(of(path))}, src/platform/version.ts ${VERSION}`);
  }
  const chart = readFileSync(join(ROOT, 'deploy/helm/agent-session-service/Chart.yaml'), 'utf8');
  if (!chart.includes(`version: ${VERSION}\n`)) found.push(`the chart is not of ${VERSION}: npm run chart`);
  if (git('status', '--porcelain') !== '') found.push('the checkout has changes that are not committed');
  if (!new RegExp(`^## ${VERSION.replaceAll('.', '\\.')} - \\d{4}-\\d\\d-\\d\\d$`, 'm').test(changelog())) {
    found.push(`CHANGELOG.md has no date in the heading of ${VERSION}`);
  }
  found.push(...placeholders(ROOT));
  if (git('tag', '--list', `v${VERSION}`) !== '') found.push(`the tag v${VERSION} exists`);
  return found;
}

const changelog = (): string => readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');

/** The section of the version, without its heading. */
function changes(): string {
  const [, section] = changelog().split(new RegExp(`^## ${VERSION.replaceAll('.', '\\.')}\\b.*$`, 'm'));
  if (section === undefined) throw new Error(`CHANGELOG.md has no section ${VERSION}`);
  return section.split(/^## /m)[0]!.trim();
}

const { values } = parseArgs({
  options: {
    'dry-run': { type: 'boolean', default: false },
    image: { type: 'boolean', default: false },
    out: { type: 'string', default: join(ROOT, 'dist', 'release') },
  },
});
const found = faults();
if (found.length > 0) {
  process.stderr.write(found.map((fault) => `${values['dry-run'] ? 'would refuse' : 'refused'}: ${fault}\n`).join(''));
  if (!values['dry-run']) process.exit(1);
}
rmSync(values.out, { recursive: true, force: true });
mkdirSync(values.out, { recursive: true });
const sources = [checkOut(), checkOut()] as const;
const again = mkdtempSync(join(tmpdir(), 'release-again-'));
const rows: string[] = [];
const notMade: string[] = [];
try {
  for (const { name, make } of ARTEFACTS) {
    const [first, second] = [join(values.out, name), join(again, name)];
    if (make(sources[0], first) === null) {
      notMade.push(`${name}: its sources are not in this commit`);
      continue;
    }
    make(sources[1], second);
    if (sha256(first) !== sha256(second))
      throw new Error(`${name} is not reproducible: two builds of ${commit} differ`);
    rows.push(`${sha256(first)}  ${name}`);
    process.stdout.write(`${String(Math.ceil(readFileSync(first).length / 1024)).padStart(7)} KiB  ${name}\n`);
  }
  if (values.image) {
    const tag = `agent-session-service:${VERSION}`;
    run(sources[0], 'docker', 'build', '--network', 'host', '--quiet', '--tag', tag, '.');
    const contents = execFileSync(
      'docker',
      ['run', '--rm', '--interactive', '--network', 'host', '--entrypoint', 'node', tag, '--input-type=module', '-'],
      {
        input: readFileSync(join(ROOT, 'deploy/image/contents.mjs')),
        maxBuffer: 2 ** 26,
      },
    );
    const name = `sbom-image-${VERSION}.cdx.json`;
    writeFileSync(join(values.out, name), contents);
    rows.push(`${sha256(join(values.out, name))}  ${name}`);
    process.stdout.write(`image ${run(ROOT, 'docker', 'image', 'inspect', '--format', '{{.Id}}', tag)}  ${tag}\n`);
  } else notMade.push('the image: asked for with --image, needs docker');
} finally {
  for (const folder of [...sources.map(dirname), again]) rmSync(folder, { recursive: true, force: true });
}
writeFileSync(join(values.out, 'SHA256SUMS'), `${rows.join('\n')}\n`);
writeFileSync(
  join(values.out, 'NOTES.md'),
  `# Agent Session Service ${VERSION}

Commit ${commit}. How to upgrade: docs/operations/upgrading.md. How long it is supported: docs/operations/support.md.

${changes()}

## Files

\`\`\`
${rows.join('\n')}
\`\`\`

## To publish

\`\`\`sh
git push origin v${VERSION}
deploy/image/build.sh REGISTRY/agent-session-service:${VERSION}
helm push agent-session-service-chart-${VERSION}.tgz oci://REGISTRY/charts
npm publish agent-session-service-client-${VERSION}.tgz --access public
python3 -m twine upload agent_session_service-${VERSION}-py3-none-any.whl
\`\`\`
`,
);
process.stdout.write(notMade.map((what) => `not made: ${what}\n`).join(''));
process.stdout.write(`${rows.length} files and NOTES.md in ${values.out}; made twice, with the same bytes\n`);
if (!values['dry-run']) {
  git('tag', '--annotate', `v${VERSION}`, '--message', `Agent Session Service ${VERSION}`);
  process.stdout.write(`tag v${VERSION} set; NOTES.md says how to publish\n`);
}
