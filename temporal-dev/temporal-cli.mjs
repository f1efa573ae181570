import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { acquireLock } from '../dev/lock.mjs';
import { run, step } from '../dev/progress.mjs';

/** The version of the Temporal CLI (with server and UI) that this project is tested with. */
export const TEMPORAL_VERSION = '1.5.1';
/** The version of its server. A CLI built from source has no version of its own, but always the server's. */
const SERVER_VERSION = '1.29.1';
/**
 * SHA-256 of the official archives.
 * @type {Record<string, readonly [string, string]>}
 */
const ARCHIVES = {
  'linux-x64': ['linux_amd64', 'ddc95e08b0b076efd4ea9733a3f488eb7d2be875f8834e616cd2a37358b4852d'],
  'linux-arm64': ['linux_arm64', 'bd1b0db9f18b051026de8bf6cc1505f2510f14bbb7a8b9a4a91fff46c77454f5'],
  'darwin-x64': ['darwin_amd64', 'bbb73e2a31135abe50a1f1cdb35030c42961df618e8ce9c60ae89f201540c5d9'],
  'darwin-arm64': ['darwin_arm64', 'cca01b7ea35ad56e2a328d9ae596bf716bd22313ef63c7a761c88354457c2415'],
};
const CONNECT_TIMEOUT_MS = 5_000;
const DOWNLOAD_TIMEOUT_MS = 10 * 60_000;

/** The cache folder shared by all checkouts. */
export function cacheDir() {
  const base =
    process.env.XDG_CACHE_HOME ||
    (process.platform === 'darwin' ? join(homedir(), 'Library', 'Caches') : join(homedir(), '.cache'));
  return join(base, 'agent-session-service');
}

/**
 * Returns the path of a usable `temporal` binary: from PATH, from the cache folder, downloaded, or built with Go.
 * Downloads or builds it once per machine and user.
 * @returns {Promise<string>}
 */
export async function temporalCli() {
  const onPath = findOnPath('temporal');
  if (onPath !== null && (await isRecentEnough(onPath))) return onPath;
  const home = join(cacheDir(), `temporal-${TEMPORAL_VERSION}`);
  const cached = join(home, 'temporal');
  if (existsSync(cached)) return cached;

  mkdirSync(home, { recursive: true });
  const release = await acquireLock(join(home, 'lock'), 'getting the Temporal server');
  try {
    if (!existsSync(cached)) await obtain(home, cached);
  } finally {
    release();
  }
  return cached;
}

/**
 * A binary gets its final name only after it has printed its version, so a file with that name is complete.
 * @param {string} home
 * @param {string} cached
 */
async function obtain(home, cached) {
  const work = mkdtempSync(join(home, 'new-'));
  /** @type {string[]} */
  const reasons = [];
  /** @type {[string, (work: string) => Promise<string>][]} */
  const ways = [
    [`Downloading the Temporal server ${TEMPORAL_VERSION}`, download],
    [`Building the Temporal server ${TEMPORAL_VERSION} with Go (once, about 3 minutes)`, build],
  ];
  try {
    for (const [title, get] of ways) {
      try {
        const binary = await step(title, () => get(work));
        if (!(await isRecentEnough(binary))) throw new Error('the binary does not answer with the expected version');
        renameSync(binary, cached);
        return;
      } catch (error) {
        reasons.push(`${title}: ${/** @type {Error} */ (error).message}`);
      }
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  throw new Error(
    [
      'There is no Temporal server on this machine, and it could be neither downloaded nor built:',
      ...reasons.map((reason) => `  - ${reason.replaceAll('\n', '\n    ')}`),
      'Do one of these and try again:',
      `  - put the \`temporal\` command ${TEMPORAL_VERSION} or newer on PATH (https://docs.temporal.io/cli)`,
      '  - install Go (https://go.dev/dl): it is then built from source',
      '  - set TEMPORAL_ADDRESS to a server that runs already',
    ].join('\n'),
  );
}

/** @param {string} work */
async function download(work) {
  const archive = ARCHIVES[`${process.platform}-${process.arch}`];
  if (archive === undefined) throw new Error(`there is no archive for ${process.platform} ${process.arch}`);
  const [name, checksum] = archive;
  const url = `https://github.com/temporalio/cli/releases/download/v${TEMPORAL_VERSION}/temporal_cli_${TEMPORAL_VERSION}_${name}.tar.gz`;
  const file = join(work, 'temporal.tar.gz');
  const abort = new globalThis.AbortController();
  let timer = setTimeout(
    () => abort.abort(new Error(`no answer within ${CONNECT_TIMEOUT_MS / 1_000} s`)),
    CONNECT_TIMEOUT_MS,
  );
  try {
    const response = await fetch(url, { signal: abort.signal });
    if (!response.ok || response.body === null) throw new Error(`status ${response.status}`);
    clearTimeout(timer);
    timer = setTimeout(() => abort.abort(new Error('it takes too long')), DOWNLOAD_TIMEOUT_MS);
    const hash = createHash('sha256');
    await pipeline(
      Readable.fromWeb(/** @type {any} */ (response.body)),
      async function* hashing(chunks) {
        for await (const chunk of chunks) {
          hash.update(chunk);
          yield chunk;
        }
      },
      createWriteStream(file),
    );
    const found = hash.digest('hex');
    if (found !== checksum) throw new Error(`the checksum is ${found}, expected ${checksum}`);
  } catch (error) {
    const { message, cause } = /** @type {Error & { cause?: Error }} */ (error);
    throw new Error(`${url}: ${cause?.message ?? message}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
  await run('tar', ['-xzf', file, '-C', work, 'temporal']);
  return join(work, 'temporal');
}

/** @param {string} work */
async function build(work) {
  if (findOnPath('go') === null) throw new Error('there is no `go` command');
  // GOWORK, GOOS and GOARCH of a developer's shell would redirect or refuse the installation.
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...process.env, GOBIN: work, GOWORK: 'off' };
  delete env.GOOS;
  delete env.GOARCH;
  const flags = `-s -w -X github.com/temporalio/cli/temporalcli.Version=${TEMPORAL_VERSION}`;
  await run('go', ['install', '-ldflags', flags, `github.com/temporalio/cli/cmd/temporal@v${TEMPORAL_VERSION}`], {
    cwd: work,
    env,
  });
  return join(work, 'temporal');
}

/** @param {string} binary */
async function isRecentEnough(binary) {
  let answer;
  try {
    answer = await run(binary, ['--version'], { timeoutMs: 10_000 });
  } catch {
    return false;
  }
  const [, cli, server] = /version (\d+\.\d+\.\d+)\S* \(Server (\d+\.\d+\.\d+)/.exec(answer) ?? [];
  if (cli === undefined) return false;
  return atLeast(cli, TEMPORAL_VERSION) || (cli === '0.0.0' && atLeast(server ?? '', SERVER_VERSION));
}

/**
 * @param {string} version
 * @param {string} minimum
 */
function atLeast(version, minimum) {
  return version.localeCompare(minimum, 'en', { numeric: true }) >= 0;
}

/** @param {string} name */
function findOnPath(name) {
  for (const folder of (process.env.PATH ?? '').split(delimiter).filter(Boolean)) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      continue;
    }
  }
  return null;
}
