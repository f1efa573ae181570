/**
 * What the model knows of the turn's skills from the start: names and descriptions only. The instructions come with
 * `use_skill`, further files with `read_skill_file`. One line each, so that no description passes for another's line.
 */
export function describeSkills(skills: { name: string; description: string }[]): string {
  if (skills.length === 0) return '';
  const lines = skills.map(({ name, description }) => `- ${name}: ${description.replace(/\s+/g, ' ').trim()}`);
  return [
    'The user selected these skills for this turn. When one fits the task, call use_skill with its name before you start,',
    'and follow what it says.',
    '',
    ...lines,
  ].join('\n');
}
