import { ObjectMissingError, type Storage } from '../../../src/files/storage.js';
import { listSkillFiles, type StoredFile } from '../../../src/skills/content.js';
import { findSkill, type Skill } from '../../../src/skills/store.js';
import { textResult, type ToolCall, type ToolDeps, type ToolResult } from '../tool.js';

export interface OpenSkill {
  skill: Skill;
  files: StoredFile[];
  storage: Storage;
}

/**
 * Runs `use` with the selected skill named `name`. The model gets an error result if no such skill is selected, or
 * `cannot load skill` if it was deleted meanwhile.
 */
export async function withSelectedSkill(
  name: string,
  { turn }: ToolCall,
  { db, storage }: ToolDeps,
  use: (open: OpenSkill) => Promise<ToolResult>,
): Promise<ToolResult> {
  const selected = turn.skills.find((skill) => skill.name === name);
  if (selected === undefined) return textResult(notSelected(name, turn), true);
  const skill = await findSkill(db, turn.projectId, selected.id);
  if (skill === null) return cannotLoad(name);
  try {
    return await use({ skill, files: await listSkillFiles(storage, skill), storage });
  } catch (error) {
    // The skill was deleted after its row was read. A lost object gives the model the same error.
    if (error instanceof ObjectMissingError) return cannotLoad(name);
    throw error;
  }
}

function cannotLoad(name: string): ToolResult {
  return textResult(`cannot load skill "${name}": it was deleted after it had been selected.`, true);
}

function notSelected(name: string, { skills }: ToolCall['turn']): string {
  const names = skills.map((skill) => skill.name).join(', ');
  return `There is no skill ${JSON.stringify(name)} in this turn. ${
    names === '' ? 'No skills were selected.' : `Selected skills: ${names}.`
  }`;
}
