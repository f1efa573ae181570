import type { AgentSessionClient } from '../client.js';
import { fromPath } from '../node.js';
import type { NewMessage } from '../types.js';
import type { Arguments } from './arguments.js';
import type { Screen } from './screen.js';
import { UsageError } from './usage.js';

/** A new session, as `--agent` and `--model` say; its id is a line of its own. */
export async function newSession(client: AgentSessionClient, { options }: Arguments, notes: Screen): Promise<string> {
  const { agent, model } = options as { agent?: string; model?: string };
  const configuration = {
    ...(agent !== undefined && { agent }),
    ...(model !== undefined && { model_id: model }),
    ...(agent === undefined && model === undefined && { model_id: await firstModel(client) }),
  };
  const { id } = await client.createSession(configuration);
  notes.line(`session ${id}`, 'dim');
  return id;
}

async function firstModel(client: AgentSessionClient): Promise<string> {
  const { items } = await client.listModels({ limit: 1 });
  if (items[0] === undefined) throw new UsageError('The service has no model');
  return items[0].id;
}

/** The message with the files and skills of the options. Files are uploaded. @throws UsageError for a file that cannot be read */
export async function messageOf(
  client: AgentSessionClient,
  content: string,
  options: Arguments['options'],
): Promise<NewMessage> {
  const { file: paths = [], skill: skills = [] } = options as { file?: string[]; skill?: string[] };
  const files: string[] = [];
  for (const path of paths) {
    const source = await fromPath(path).catch((error: unknown) => {
      throw new UsageError(
        `The file ${path} cannot be read: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}`,
      );
    });
    files.push((await client.uploadFile(source)).id);
  }
  return { content, ...(files.length > 0 && { files }), ...(skills.length > 0 && { skills }) };
}
