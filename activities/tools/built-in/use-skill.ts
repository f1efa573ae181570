import { readSkillFile, SKILL_MD } from '../../../src/skills/content.js';
import { readSkillMd } from '../../../src/skills/frontmatter.js';
import { SKILLS, WORKSPACE } from '../../../src/workspaces/layout.js';
import { fileList } from './file-list.js';
import { withSelectedSkill } from './selected-skill.js';
import { textResult, type BuiltInTool } from '../tool.js';

/** Less than `MAX_WHOLE_BYTES` of src/steps/shorten-result, so that instructions are never shortened. */
const RESULT_BYTES = 46 * 1024;

export const useSkill: BuiltInTool = {
  name: 'use_skill',
  description:
    'Loads a skill that the user selected: returns its instructions and the list of its files, which read_skill_file reads. Call it before you start on a task that the skill covers.',
  inputSchema: {
    type: 'object',
    properties: { name: { type: 'string', description: 'Name of the skill.' } },
    required: ['name'],
    additionalProperties: false,
  },
  run: (call, deps) =>
    withSelectedSkill(call.input.name as string, call, deps, async ({ skill, files, storage }) => {
      const main = files.find(({ path }) => path === SKILL_MD)!;
      const { body } = readSkillMd(await readSkillFile(storage, skill, main, main.size));
      // Instructions name scripts by paths relative to their skill.
      const folder =
        call.turn.workspace === null
          ? ''
          : `\n\nIts files are in ${SKILLS}/${skill.name} (read-only): paths in these instructions are relative to it. Run its scripts by their full path, and work in ${WORKSPACE}.`;
      const text = `Skill "${skill.name}"\n\n${body.trimEnd()}${folder}`;
      const others = files.filter((file) => file !== main);
      if (others.length === 0) return textResult(text);
      const list = fileList(others, RESULT_BYTES - Buffer.byteLength(text));
      return textResult(`${text}\n\nFiles of the skill (read_skill_file reads them):\n${list}`);
    }),
};
