import { useState } from 'preact/hooks';
import type { Skill } from '../../../client/src/index.js';
import { useClient, useService } from '../client/service.js';
import { useList } from '../client/use-list.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { CopyText } from '../parts/copy-text.js';
import { Empty } from '../parts/empty.js';
import { formatBytes } from '../parts/format.js';
import { ListFrame } from '../parts/list-frame.js';
import { PageHead } from '../parts/page-head.js';
import { Time } from '../parts/time.js';
import { UploadForm } from '../parts/upload-form.js';
import { SkillFiles } from './skill-files.js';

export function SkillsView() {
  const { client, uploadClient } = useService();
  const list = useList((cursor, signal) => client.listSkills({ cursor, limit: 50 }, { signal }), [client]);
  return (
    <>
      <PageHead title="Skills" />
      <UploadForm
        label="Upload a skill"
        hint="A .zip or .skill package, or a single SKILL.md"
        accept=".zip,.skill,.md"
        upload={(file, onProgress) => uploadClient(onProgress).uploadSkill({ filename: file.name, content: file })}
        onUploaded={list.reload}
      />
      <ListFrame
        list={list}
        label="Skills"
        empty={
          <Empty title="There are no skills yet">
            A skill teaches the agent a task: a SKILL.md with a name, a description and the steps. Upload one above,
            then select it for a message.
          </Empty>
        }
        row={(skill) => <SkillRow key={skill.id} skill={skill} onDeleted={list.reload} />}
      />
    </>
  );
}

function SkillRow({ skill, onDeleted }: { skill: Skill; onDeleted: () => void }) {
  const client = useClient();
  const [isOpen, setOpen] = useState(false);
  const remove = async (): Promise<void> => {
    await client.deleteSkill(skill.id);
    onDeleted();
  };
  return (
    <li class="row">
      <span class="row-title">{skill.name}</span>
      <span class="hint">
        {formatBytes(skill.size_bytes)} · <Time at={skill.created_at} />
      </span>
      <CopyText text={skill.id} label={`id of ${skill.name}`} />
      <button type="button" class="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'Hide files' : 'Files'}
        <span class="visually-hidden"> of {skill.name}</span>
      </button>
      <ConfirmButton
        label="Delete"
        subject={skill.name}
        question={`Delete the skill ${skill.name}?`}
        onConfirm={remove}
      >
        <p>Later messages cannot select it.</p>
      </ConfirmButton>
      {skill.description !== '' && <p class="row-more">{skill.description}</p>}
      {isOpen && <SkillFiles skill={skill} />}
    </li>
  );
}
