import { execFileSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { AgentSessionClient, ApiError, type Session } from '@agent-session-service/client';

/** A script of a skill makes a report, and this program downloads it. */
const { BASE = 'http://127.0.0.1:8080', KEY, REPORT_DATA = '.data' } = process.env;
if (KEY === undefined) throw new Error('Set KEY to an API key of the service: see README.md.');
const client = new AgentSessionClient({ baseUrl: BASE, apiKey: KEY });

/** The skill, uploaded once: a package of SKILL.md and its script. */
async function reportSkill(): Promise<string> {
  for await (const skill of client.eachSkill()) if (skill.name === 'sales-report') return skill.id;
  const cwd = fileURLToPath(new URL('skill/', import.meta.url));
  const content = execFileSync('zip', ['-q', '-r', '-X', '-', 'SKILL.md', 'scripts'], { cwd });
  return (await client.uploadSkill({ filename: 'sales-report.zip', content })).id;
}

/** A session in which the agent can run the script; null where the service runs no commands. */
async function sessionWithWorkspace(modelId: string): Promise<Session | null> {
  try {
    return await client.createSession({ model_id: modelId, tools: [{ type: 'workspace' }] });
  } catch (error) {
    if (error instanceof ApiError && error.is('workspace_unavailable')) return null;
    throw error;
  }
}

/** The task of the agent. The local model of `npm start` reads no text: it follows commands. */
function taskOf(modelId: string): string {
  if (modelId !== 'local-rules') return 'Make the sales report of the attached orders with the skill sales-report.';
  const script = '/mnt/skills/sales-report/scripts/report.sh';
  const command = `${script} /mnt/session/uploads/orders.csv /mnt/session/outputs/report.csv`;
  return `call use_skill with {"name": "sales-report"} then call bash with ${JSON.stringify({ command })}`;
}

async function main(): Promise<void> {
  const [model] = (await client.listModels({ limit: 1 })).items;
  const session = await sessionWithWorkspace(model!.id);
  if (session === null) {
    console.log('This service runs no commands, so the script of the skill cannot run.');
    console.log('Set SANDBOX_PROVIDER, as docs/operations/sandbox.md says, and start this again.');
    return;
  }
  const orders = await client.uploadFile({
    filename: 'orders.csv',
    content: await readFile(new URL('orders.csv', import.meta.url)),
  });
  const message = { content: taskOf(model!.id), files: [orders.id], skills: [await reportSkill()] };
  const { status, events } = await client.run(session.id, message);
  console.log(`${status} in ${session.id}`);

  await mkdir(REPORT_DATA, { recursive: true });
  for (const event of events) {
    if (event.type !== 'agent.file') continue;
    const { id, filename } = event.file;
    const report = await (await client.downloadFile(id)).text();
    await writeFile(`${REPORT_DATA}/${filename}`, report);
    console.log(`${filename}:\n${report}`);
  }
  // All that the agent has left, to look at: also what it did not deliver.
  const archive = await client.workspaceArchive(session.id, { path: '/' });
  await writeFile(`${REPORT_DATA}/workspace.zip`, Buffer.from(await archive.arrayBuffer()));
  if (status !== 'completed') process.exitCode = 1;
}

await main();
