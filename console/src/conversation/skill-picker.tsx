import { useState } from 'preact/hooks';
import type { Skill } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { CheckList } from '../parts/check-list.js';
import { ErrorNote } from '../parts/error-note.js';
import { usePopover } from '../parts/use-popover.js';

interface Props {
  selected: string[];
  onChange: (skillIds: string[]) => void;
}

export function SkillPicker({ selected, onChange }: Props) {
  const client = useClient();
  const [skills, setSkills] = useState<Skill[] | null>(null);
  const loading = useAction(async () => setSkills(await Array.fromAsync(client.eachSkill())));
  const popover = usePopover();
  return (
    <details ref={popover} class="picker" onToggle={(event) => event.currentTarget.open && loading.run()}>
      <summary class="button quiet">Skills{selected.length > 0 && ` (${selected.length})`}</summary>
      <fieldset>
        <legend>Skills of the next message</legend>
        <ErrorNote error={loading.error} />
        {skills?.length === 0 && (
          <p class="hint">
            There are no skills yet. <a href="#/skills">Upload one</a>
          </p>
        )}
        <CheckList
          options={(skills ?? []).map(({ id, name, description }) => ({ value: id, label: name, hint: description }))}
          selected={selected}
          onChange={onChange}
        />
      </fieldset>
    </details>
  );
}
