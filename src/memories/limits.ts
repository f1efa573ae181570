import { MIB } from '../platform/units.js';

const KIB = 1024;

/** Bytes of a file of a memory, in UTF-8. */
export const MAX_FILE_BYTES = 100 * KIB;
export const MAX_FILES = 1000;
/** Bytes of all files of a memory. */
export const MAX_MEMORY_BYTES = 10 * MIB;
/** Versions of a memory that are kept, and the bytes of their texts. */
export const MAX_VERSIONS = 1000;
export const MAX_VERSION_BYTES = 50 * MIB;
/** Bytes that one `view` shows. Less would be shortened for the model no further (src/steps/shorten-result). */
export const MAX_VIEW_BYTES = 48 * KIB;
/** Characters of a path, and of each of its segments. */
export const MAX_PATH_LENGTH = 256;
export const MAX_SEGMENT_LENGTH = 100;
