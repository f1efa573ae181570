import { attachedFiles, type SessionFile } from '../../../../src/steps/session-files.js';
import { newestUploads, uploadNames } from '../../../../src/workspaces/uploads.js';
import { SKILLS, UPLOADS } from '../../../../src/workspaces/layout.js';
import type { Mount } from '../../../../src/workspaces/sandbox.js';
import { listSkillFiles, openSkillFile } from '../../../../src/skills/content.js';
import { findSkill } from '../../../../src/skills/store.js';
import type { ToolCall, ToolDeps } from '../../tool.js';

/** What a call may read beside its tree: the newest attachments of the session so far, and the skills of the turn. */
export async function mountsOf({ turn }: Pick<ToolCall, 'turn'>, { db, storage }: ToolDeps): Promise<Mount[]> {
  const attached = await attachedFiles(db, turn);
  const names = uploadNames(attached);
  const uploads = newestUploads(attached).map((file): Mount => ({
    id: file.id,
    kind: 'file',
    target: `${UPLOADS}/${names.get(file.id)!}`,
    bytes: file.size_bytes,
    contents: () => contentOf(storage, file),
  }));
  const skills = await Promise.all(
    turn.skills.map(async ({ id, name }): Promise<Mount | null> => {
      const skill = await findSkill(db, turn.projectId, id);
      if (skill === null) return null;
      const contents = (): ReturnType<Mount['contents']> => filesOf(storage, skill);
      return { id, kind: 'folder', target: `${SKILLS}/${name}`, bytes: skill.size_bytes, contents };
    }),
  );
  return [...uploads, ...skills.filter((mount) => mount !== null)];
}

async function* contentOf(
  storage: ToolDeps['storage'],
  { storage_key: key, size_bytes: size }: SessionFile,
): ReturnType<Mount['contents']> {
  const content = size === 0 ? Buffer.alloc(0) : await storage.open(key!);
  yield { path: '', content };
}

async function* filesOf(
  storage: ToolDeps['storage'],
  skill: Parameters<typeof listSkillFiles>[1],
): ReturnType<Mount['contents']> {
  for (const file of await listSkillFiles(storage, skill)) {
    yield { path: file.path, content: file.size === 0 ? Buffer.alloc(0) : await openSkillFile(storage, skill, file) };
  }
}
