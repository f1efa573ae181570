import { createHash } from 'node:crypto';
import { extname } from 'node:path';
import mime from 'mime-types';
import { ServiceError } from '../../../src/platform/errors.js';
import { storageKey } from '../../../src/files/storage.js';
import { openSkillFile, readSkillFile, type StoredFile } from '../../../src/skills/content.js';
import { safeSegments } from '../../../src/skills/paths.js';
import { fileList } from './file-list.js';
import { MAX_IMAGE_BYTES, readImageType } from '../../../src/models/image-type.js';
import { MAX_LINE } from '../../../src/steps/shorten-result.js';
import { withSelectedSkill, type OpenSkill } from './selected-skill.js';
import { PAGE_BYTES, showText, WINDOW_PROPERTIES, type TextWindow } from './show-text.js';
import { textResult, type BuiltInTool, type ToolCall, type ToolResult } from '../tool.js';

const LIST_BYTES = 8 * 1024;

interface Input extends TextWindow {
  skill: string;
  path: string;
}

/** Shows one file of a selected skill: text in pages of lines, images as images (decisions.md "What the agent has"). */
export const readSkillFileTool: BuiltInTool = {
  name: 'read_skill_file',
  description:
    'Reads a file of a skill that the user selected. Text comes in pages of lines, images as images. use_skill lists the files. ' +
    `Lines of more than ${MAX_LINE} characters count as several lines.`,
  inputSchema: {
    type: 'object',
    properties: {
      skill: { type: 'string', description: 'Name of the skill.' },
      path: { type: 'string', description: 'Path of the file, as use_skill lists it.' },
      ...WINDOW_PROPERTIES,
    },
    required: ['skill', 'path'],
    additionalProperties: false,
  },
  run(call, deps) {
    const input = call.input as unknown as Input;
    return withSelectedSkill(input.skill, call, deps, async (open) => {
      const path = pathOf(input.path);
      if (path instanceof ServiceError) return textResult(path.message, true);
      const file = open.files.find((candidate) => candidate.path === path);
      return file === undefined ? showFolder(path, open) : showFile(file, input, open, call);
    });
  },
};

/** Returns the path as stored in the archive, or an error if the path is not valid. */
function pathOf(path: string): string | ServiceError {
  try {
    return safeSegments(path).join('/');
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

function showFolder(path: string, { skill, files }: OpenSkill): ToolResult {
  const inside = files.filter((file) => file.path.startsWith(`${path}/`));
  if (inside.length > 0) return textResult(`Files in ${path}:\n${fileList(inside, PAGE_BYTES)}`);
  const all = fileList(files, LIST_BYTES);
  return textResult(`The skill "${skill.name}" has no file ${JSON.stringify(path)}. Its files:\n${all}`, true);
}

async function showFile(file: StoredFile, input: Input, open: OpenSkill, call: ToolCall): Promise<ToolResult> {
  if (file.size === 0) return textResult('(The file is empty.)');
  const { storage, skill } = open;
  const image = await showImage(file, open, call);
  if (image !== null) return image;
  const shown = await showText(
    {
      mimeType: typeOf(file),
      readStart: (maxBytes) => readSkillFile(storage, skill, file, maxBytes),
      open: () => openSkillFile(storage, skill, file),
    },
    input,
  );
  return shown ?? textResult(`${file.path} cannot be shown: a file of type ${typeOf(file)}, ${file.size} bytes.`);
}

/** Stores an image for later model requests, under the same key at every attempt; null if the file is not an image. */
async function showImage(
  file: StoredFile,
  { storage, skill }: OpenSkill,
  { turn, toolUseId }: ToolCall,
): Promise<ToolResult | null> {
  if (!typeOf(file).startsWith('image/') || file.size > MAX_IMAGE_BYTES) return null;
  const type = await readImageType(file.size, (maxBytes) => readSkillFile(storage, skill, file, maxBytes));
  if (type === null) return null;
  const key = storageKey('results', turn.id, createHash('sha256').update(toolUseId).digest('hex').slice(0, 32));
  const content = await openSkillFile(storage, skill, file);
  await storage.put(key, content, { contentType: type, size: file.size });
  return {
    content: [
      { type: 'text', text: `${file.path} (${type}, ${file.size} bytes)` },
      { type: 'image', media_type: type, storage_key: key },
    ],
    isError: false,
  };
}

function typeOf({ path }: StoredFile): string {
  return mime.lookup(extname(path)) || 'application/octet-stream';
}
