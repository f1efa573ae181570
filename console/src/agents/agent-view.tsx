import { useState } from 'preact/hooks';
import type { Agent, AgentChange, AgentVersion } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { useList } from '../client/use-list.js';
import { useLoad } from '../client/use-load.js';
import { ActionForm } from '../parts/action-form.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { CopyText } from '../parts/copy-text.js';
import { ErrorNote } from '../parts/error-note.js';
import { Checkbox, SelectField, TextAreaField } from '../parts/fields.js';
import { ListFrame } from '../parts/list-frame.js';
import { PageHead, UnreadPage } from '../parts/page-head.js';
import { Time } from '../parts/time.js';
import { navigate } from '../route.js';
import { compareLines, configurationOf, textOf } from './compare.js';

export function AgentView({ id }: { id: string }) {
  const client = useClient();
  const { value: agent, error, replace } = useLoad((signal) => client.getAgent(id, { signal }), [client, id]);
  const remove = async (): Promise<void> => {
    await client.deleteAgent(id);
    navigate('/agents');
  };
  if (agent === null) return <UnreadPage title="Agent" error={error} />;
  return (
    <>
      <PageHead title={agent.name} back="#/agents">
        <a class="button" href={`#/sessions?agent=${id}`}>
          Its sessions
        </a>
        <ConfirmButton label="Delete" question={`Delete the agent ${agent.name}?`} onConfirm={remove}>
          <p>Sessions keep what they have. No new session can be made of it.</p>
        </ConfirmButton>
      </PageHead>
      <div class="facts">
        <CopyText text={agent.id} label="agent id" />
        <span>version {agent.live_version} is live</span>
        <span>{agent.version} is the newest</span>
      </div>
      {agent.description !== '' && <p>{agent.description}</p>}
      <Versions key={agent.updated_at} agent={agent} onChanged={replace} />
      <EditAgent key={`edit ${agent.version}`} agent={agent} onSaved={replace} />
    </>
  );
}

interface VersionsProps {
  agent: Agent;
  onChanged: (agent: Agent) => void;
}

function Versions({ agent, onChanged }: VersionsProps) {
  const client = useClient();
  const list = useList(
    (cursor, signal) => client.listAgentVersions(agent.id, { cursor, limit: 20 }, { signal }),
    [client, agent.id],
  );
  const publishing = useAction(async (version: number) => {
    onChanged(await client.updateAgent(agent.id, { live_version: version }));
  });
  const trying = useAction(async (version: number) => {
    const { id } = await client.createSession({
      agent: { id: agent.id, version },
      metadata: { title: `${agent.name}, version ${version}` },
    });
    navigate(`/sessions/${id}`);
  });
  return (
    <section class="section" aria-label="Versions">
      <h2>Versions</h2>
      <ErrorNote error={publishing.error ?? trying.error} />
      <ListFrame
        list={list}
        label="Versions"
        empty={null}
        row={({ version, created_at }) => (
          <li key={version} class="row">
            <span class="row-title">Version {version}</span>
            <span class="hint">
              {version === agent.live_version && 'live · '}
              <Time at={created_at} />
            </span>
            <button type="button" disabled={trying.busy} onClick={() => trying.run(version)}>
              Try<span class="visually-hidden"> version {version}</span>
            </button>
            {version !== agent.live_version && (
              <button type="button" disabled={publishing.busy} onClick={() => publishing.run(version)}>
                {version > agent.live_version ? 'Publish' : 'Go back'}
                <span class="visually-hidden"> to version {version}</span>
              </button>
            )}
          </li>
        )}
      />
      {list.items !== null && list.items.length > 1 && <Comparison versions={list.items} live={agent.live_version} />}
    </section>
  );
}

/** Two versions as one text: what the one has in front of the other. */
function Comparison({ versions, live }: { versions: AgentVersion[]; live: number }) {
  const numbers = versions.map(({ version }) => [String(version), `Version ${version}`] as const);
  const [newest, second] = numbers.map(([number]) => number) as [string, string];
  const isListed = numbers.some(([number]) => number === String(live));
  const [from, setFrom] = useState(isListed && String(live) !== newest ? String(live) : second);
  const [to, setTo] = useState(newest);
  const of = (number: string): AgentVersion => versions.find(({ version }) => String(version) === number)!;
  const lines = compareLines(textOf(of(from)), textOf(of(to)));
  const isSame = lines.every(({ kind }) => kind === 'same');
  return (
    <>
      <h3>What changed</h3>
      <div class="actions">
        <SelectField label="From" value={from} options={numbers} onChange={setFrom} />
        <SelectField label="To" value={to} options={numbers} onChange={setTo} />
      </div>
      {isSame && <p class="hint">Both are the same.</p>}
      <pre class="diff" tabIndex={0} aria-label={`What changed from version ${from} to version ${to}`}>
        {lines.map(({ kind, text }, index) => (
          <span key={index} class={`diff-${kind}`}>
            {`${{ same: ' ', removed: '-', added: '+' }[kind]} ${text}\n`}
          </span>
        ))}
      </pre>
    </>
  );
}

function EditAgent({ agent, onSaved }: { agent: Agent; onSaved: (agent: Agent) => void }) {
  const client = useClient();
  const { instruction, ...others } = configurationOf(agent);
  const [text, setText] = useState(instruction ?? '');
  const [json, setJson] = useState(() => JSON.stringify(others, null, 2));
  const [isDraft, setDraft] = useState(false);
  const saving = useAction(async () => {
    const change: AgentChange = {
      ...(JSON.parse(json) as AgentChange),
      instruction: text === '' ? null : text,
      expected_version: agent.version,
      ...(isDraft && { live_version: agent.live_version }),
    };
    onSaved(await client.updateAgent(agent.id, change));
  });
  return (
    <section class="section" aria-label="New version">
      <h2>New version</h2>
      <ActionForm action={saving} submit="Save as a version">
        <TextAreaField label="Instruction" rows={8} value={text} onChange={setText} />
        <TextAreaField
          label="Configuration"
          hint="The other fields, as JSON. Each version keeps what it has."
          class="code"
          rows={12}
          spellcheck={false}
          value={json}
          onChange={setJson}
        />
        <Checkbox
          label="As a draft"
          hint={`Version ${agent.live_version} stays live until you publish the new one.`}
          checked={isDraft}
          onChange={setDraft}
        />
      </ActionForm>
    </section>
  );
}
