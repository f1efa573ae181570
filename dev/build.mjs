/**
 * `npm run build`: makes the client from the OpenAPI document, compiles into dist, bundles the workflow code and builds the console. It
 * does not check types: `npm run lint` does.
 * Remembers what was compiled, so that nothing is built twice.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { endCommandsWithUs, messageOf, run } from './progress.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const COMPILED_FOLDERS = ['src', 'api', 'workflows', 'activities', 'ops', 'dev', 'temporal-dev'];
const SOURCE_FOLDERS = [...COMPILED_FOLDERS, 'client/src', 'console'];
const SOURCE_NAMES = /\.(tsx?|css|html|svg|sql)$/;
const SOURCE_FILES = [
  ...['package.json', 'package-lock.json', 'tsconfig.json'],
  ...['api/openapi.json', 'client/generate.ts', 'client/generate-operations.ts'],
];
const GENERATED = join('client', 'src', 'generated');
const STAMP = join(root, 'dist', '.build-stamp.json');

export function isBuildCurrent() {
  return existsSync(join(root, GENERATED)) && readStamp().hash === sourceStamp().hash;
}

export async function build() {
  const stamp = sourceStamp();
  // A deleted source file, above all a migration, must also disappear from the build, so then dist is built from scratch.
  const current = new Set(stamp.files);
  if (readStamp().files.some((file) => !current.has(file)))
    rmSync(join(root, 'dist'), { recursive: true, force: true });
  await run(process.execPath, ['--import', 'tsx', 'client/generate.ts'], { cwd: root });
  await compile(
    stamp.files.filter(
      (file) => COMPILED_FOLDERS.some((folder) => file.startsWith(folder + sep)) && /\.(ts|sql)$/.test(file),
    ),
  );
  await Promise.all([
    run(process.execPath, ['dist/activities/bundle-workflows.js'], { cwd: root }),
    run('npm', ['run', '--silent', 'console:build'], { cwd: root }),
  ]);
  mkdirSync(join(root, 'dist'), { recursive: true });
  writeFileSync(STAMP, JSON.stringify(stamp));
}

/**
 * Each file by itself, as tsx does for the tests. Migrations are copied.
 * @param {string[]} entryPoints
 */
async function compile(entryPoints) {
  // Not installed yet when this file is loaded.
  const esbuild = await import('esbuild');
  await esbuild.build({
    ...{
      entryPoints,
      absWorkingDir: root,
      outbase: '.',
      outdir: 'dist',
      format: 'esm',
      platform: 'node',
      loader: { '.sql': 'copy' },
    },
    ...{ sourcemap: true, sourcesContent: false, charset: 'utf8', logLevel: 'warning' },
  });
}

/** The source files and a hash of their contents (a checkout changes times, not contents). */
function sourceStamp() {
  const files = SOURCE_FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
    .filter((name) => SOURCE_NAMES.test(name) && !name.startsWith(GENERATED))
    .concat(SOURCE_FILES)
    .sort();
  const hash = createHash('sha256');
  for (const file of files)
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0');
  return { hash: hash.digest('hex'), files };
}

/** @returns {{ hash: string, files: string[] }} */
function readStamp() {
  return existsSync(STAMP) ? JSON.parse(readFileSync(STAMP, 'utf8')) : { hash: '', files: [] };
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const stop = endCommandsWithUs();
  try {
    await build();
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    process.exitCode = 1;
  }
  stop();
}
