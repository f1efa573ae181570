import { textResult, type ToolResult } from '../../tool.js';

export const PATH_PROPERTY = {
  type: 'string',
  minLength: 1,
  maxLength: 4096,
  description: 'Its path, absolute or relative to the working directory.',
};

/** No path of a file system has NUL. */
export function isUsablePath(path: string): boolean {
  return !path.includes('\0');
}

export function wrongPath(field: 'file_path' | 'path'): ToolResult {
  return textResult(`Wrong input: ${field} must not contain NUL.`, true);
}
