/**
 * `npm run check -- packages [--out FOLDER]`: packs the two clients as they are published, checks what is in them, and publishes the
 * npm package as a dry run. Nothing leaves this machine. Where Python or its packages cannot be had, it fails unless `--without-python`.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { preparePythonClient, project } from '../python-client.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * @param {{ out?: string, withoutPython?: boolean }} options `out`: where the files stay
 * @returns {Promise<string[]>} the files: the npm package, the wheel and the source distribution
 * @throws Error that says what is wrong with which file
 */
export async function packClients({ out, withoutPython = false } = {}) {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const folder = out === undefined ? mkdtempSync(join(tmpdir(), 'packages-')) : resolve(out);
  mkdirSync(folder, { recursive: true });
  try {
    const files = [packNpm(folder, version)];
    if (!withoutPython) files.push(...(await buildPython(folder, version)));
    return files;
  } finally {
    if (out === undefined) rmSync(folder, { recursive: true });
  }
}

/**
 * @param {string} folder
 * @param {string} version
 */
function packNpm(folder, version) {
  const client = join(root, 'client');
  const packed = JSON.parse(run('npm', ['pack', client, '--pack-destination', folder, '--json', '--silent'], root));
  const [{ filename, files, version: its }] = packed;
  const names = files.map((/** @type {{ path: string }} */ { path }) => path);
  expect(filename, names, [
    'LICENSE',
    'README.md',
    'package.json',
    'dist/index.js',
    'dist/index.d.ts',
    'dist/command/main.js',
  ]);
  if (its !== version) throw new Error(`${filename} has the version ${its}, the service ${version}`);
  const manifest = JSON.parse(readFileSync(join(client, 'package.json'), 'utf8'));
  for (const field of ['description', 'license', 'repository', 'homepage', 'keywords', 'bin']) {
    if (manifest[field] === undefined) throw new Error(`client/package.json has no ${field}`);
  }
  const path = join(folder, filename);
  run('npm', ['publish', path, '--dry-run', '--ignore-scripts', '--silent'], root);
  return path;
}

/**
 * @param {string} folder
 * @param {string} version
 */
async function buildPython(folder, version) {
  const { bin, missing } = await preparePythonClient();
  if (missing !== null) throw new Error(`the wheel cannot be built: ${missing}`);
  const python = join(bin, 'python');
  for (const target of ['sdist', 'wheel'])
    run(python, ['-m', 'hatchling', 'build', '-t', target, '-d', folder], project);
  const [source, wheel] = [
    `agent_session_service-${version}.tar.gz`,
    `agent_session_service-${version}-py3-none-any.whl`,
  ];
  const built = readdirSync(folder);
  for (const name of [source, wheel]) {
    if (!built.includes(name))
      throw new Error(`the build made no ${name}: pyproject.toml and package.json differ in their version`);
  }
  const list =
    'import sys, tarfile, zipfile; p = sys.argv[1]; print(*(zipfile.ZipFile(p).namelist() if p.endswith("whl") else tarfile.open(p).getnames()), sep="\\n")';
  const inside = (/** @type {string} */ name) => run(python, ['-c', list, join(folder, name)], root).split('\n');
  const info = `agent_session_service-${version}.dist-info`;
  const modules = ['__init__.py', 'py.typed', '_generated/models.py', '_generated/operations.py', '_sync/client.py'];
  expect(wheel, inside(wheel), [...modules.map((name) => `agent_session_service/${name}`), `${info}/licenses/LICENSE`]);
  const parts = ['openapi.json', 'pyproject.toml', 'LICENSE', 'README.md', 'generate/__init__.py', 'hatch_build.py'];
  expect(
    source,
    inside(source),
    parts.map((name) => `agent_session_service-${version}/${name}`),
  );
  const metadata =
    'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); print(z.read(next(n for n in z.namelist() if n.endswith("METADATA"))).decode())';
  const text = run(python, ['-c', metadata, join(folder, wheel)], root);
  for (const line of [
    'License-Expression: Apache-2.0',
    'Project-URL: Homepage',
    'Project-URL: Repository',
    'Keywords: agent',
  ]) {
    if (!text.includes(line)) throw new Error(`the metadata of ${wheel} has no line ${line}`);
  }
  // What pip does with them, without an index: it resolves the file itself.
  run(python, ['-m', 'pip', 'install', '--quiet', '--dry-run', '--no-deps', '--no-index', join(folder, wheel)], root);
  return [join(folder, wheel), join(folder, source)];
}

/**
 * @param {string} file
 * @param {string[]} names
 * @param {string[]} wanted
 */
function expect(file, names, wanted) {
  const missing = wanted.filter((name) => !names.includes(name));
  if (missing.length > 0) throw new Error(`${file} lacks ${missing.join(', ')}`);
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {string} cwd
 */
function run(command, args, cwd) {
  const { status, error, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (error !== undefined || status !== 0)
    throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stdout + stderr}`);
  return stdout;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { values } = parseArgs({
    options: { out: { type: 'string' }, 'without-python': { type: 'boolean', default: false } },
  });
  const files = await packClients({
    ...(values.out !== undefined && { out: values.out }),
    withoutPython: values['without-python'],
  });
  process.stdout.write(files.map((file) => `${file}\n`).join(''));
}
