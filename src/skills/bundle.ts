import { open, type FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { MIB } from '../platform/units.js';
import { archiveSize, inArchiveOrder, writeArchive, type SkillFile } from './archive.js';
import { readSkillMd, type SkillMd } from './frontmatter.js';
import { bundleTooLarge, invalidBundle, quoted } from './refusals.js';
import { openFile, unpack } from './unpack.js';
import { listFiles, type ZippedFile } from './unzip.js';

/** Size of the package as uploaded (docs/limits.md). */
export const MAX_PACKAGE_BYTES = 50 * MIB;
const MAX_FILE_BYTES = 25 * MIB;
const MAX_TOTAL_BYTES = 200 * MIB;
const MAX_SKILL_MD_BYTES = 32 * 1024;
export const SKILL_MD = 'SKILL.md';

export interface Bundle {
  name: string;
  description: string;
  skillMd: Buffer;
  /** In the order they are stored. */
  files: SkillFile[];
  sizeBytes: number;
  /** Builds the normalised archive while reading the package file, which must still exist. */
  archive(): Readable;
}

/**
 * Reads and checks the package at `path`, uploaded as `filename` (docs/skills.md). The first bytes
 * identify an archive; a single `SKILL.md` is identified by its name. Nothing is unpacked to disk: the content is
 * streamed once for the checks and once more for `archive()`.
 * @throws ServiceError `invalid_skill_bundle` or `skill_bundle_too_large`
 */
export async function readBundle(path: string, filename: string): Promise<Bundle> {
  const handle = await open(path, 'r');
  try {
    const { size } = await handle.stat();
    if (size > MAX_PACKAGE_BYTES) throw bundleTooLarge('The package is larger than 50 MiB.', MAX_PACKAGE_BYTES);
    if (await isZip(handle)) return await readZip(handle, size, path);
    if (/\.md$/i.test(filename)) return await readSingle(handle, size);
    throw invalidBundle('The package is neither a ZIP archive (.zip or .skill) nor a single SKILL.md.');
  } finally {
    await handle.close();
  }
}

/** The signature of a ZIP entry, or of an empty archive. */
async function isZip(handle: FileHandle): Promise<boolean> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
  return bytesRead === 4 && ['PK\x03\x04', 'PK\x05\x06'].includes(buffer.toString('latin1'));
}

async function readSingle(handle: FileHandle, size: number): Promise<Bundle> {
  if (size > MAX_SKILL_MD_BYTES) throw skillMdTooLarge();
  const skillMd = await handle.readFile();
  const file = { path: SKILL_MD, size: skillMd.length, crc32: crc32(skillMd) };
  return {
    ...aboutOf(readSkillMd(skillMd)),
    skillMd,
    files: [file],
    sizeBytes: archiveSize([file]),
    archive: () =>
      Readable.from(
        writeArchive([file], () => [skillMd]),
        { objectMode: false },
      ),
  };
}

async function readZip(handle: FileHandle, size: number, path: string): Promise<Bundle> {
  const zipped = await listFiles(handle, size);
  const root = skillFolder(zipped);
  const skillMdFile = zipped.find((file) => file.path === `${root}${SKILL_MD}`)!;
  const skillMd = await readSmall(handle, skillMdFile);
  const about = aboutOf(readSkillMd(skillMd));
  await checkContent(handle, zipped);
  const files = inArchiveOrder(
    zipped
      .filter((file) => file.path.startsWith(root))
      .map((file) => ({ zipped: file, path: file.path.slice(root.length), size: file.size, crc32: file.crc32 })),
  );
  return {
    ...about,
    skillMd,
    files: files.map(({ path, size, crc32 }) => ({ path, size, crc32 })),
    sizeBytes: archiveSize(files),
    archive: () => Readable.from(normalised(path, files), { objectMode: false }),
  };
}

function aboutOf({ name, description }: SkillMd): { name: string; description: string } {
  return { name, description };
}

/** The path of the skill's folder with a trailing slash; '' for the archive's root. */
function skillFolder(files: ZippedFile[]): string {
  if (files.some((file) => file.path === SKILL_MD)) return '';
  const folders = new Set(files.filter((file) => file.segments.length > 1).map((file) => file.segments[0]!));
  const [folder] = folders;
  if (folders.size === 1 && files.some((file) => file.path === `${folder}/${SKILL_MD}`)) return `${folder}/`;
  throw invalidBundle(withoutSkillMd(files));
}

function withoutSkillMd(files: ZippedFile[]): string {
  const rule = 'SKILL.md must be at the root of the archive or inside its only top-level folder';
  const near = files.find((file) => file.segments.at(-1)!.toLowerCase() === SKILL_MD.toLowerCase());
  return near === undefined ? `The archive has no SKILL.md: ${rule}.` : `${rule}; found ${quoted(near.path)}.`;
}

/** Reads `SKILL.md` first: an error in it is reported before a large file is unpacked. */
async function readSmall(handle: FileHandle, file: ZippedFile): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  await unpack(handle, file, (chunk) => {
    size += chunk.length;
    if (size > MAX_SKILL_MD_BYTES) throw skillMdTooLarge();
    chunks.push(chunk);
  });
  return Buffer.concat(chunks);
}

/** Unpacks every file without keeping the data, and stops at the first byte over a limit. The headers may be false. */
async function checkContent(handle: FileHandle, files: ZippedFile[]): Promise<void> {
  let total = 0;
  for (const file of files) {
    let size = 0;
    await unpack(handle, file, (chunk) => {
      size += chunk.length;
      total += chunk.length;
      if (size > MAX_FILE_BYTES) {
        throw bundleTooLarge(`The file ${quoted(file.path)} is larger than 25 MiB.`, MAX_FILE_BYTES);
      }
      if (total > MAX_TOTAL_BYTES) {
        throw bundleTooLarge('The package is larger than 200 MiB after unpacking.', MAX_TOTAL_BYTES);
      }
    });
  }
}

async function* normalised(path: string, files: (SkillFile & { zipped: ZippedFile })[]): AsyncGenerator<Buffer> {
  const handle = await open(path, 'r');
  try {
    yield* writeArchive(files, ({ zipped }) => openFile(handle, zipped));
  } finally {
    await handle.close();
  }
}

function skillMdTooLarge(): Error {
  return invalidBundle('SKILL.md is larger than 32 KiB.');
}
