import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { cp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installClient } from './support/packed-client.js';

const root = fileURLToPath(new URL('../', import.meta.url));
const modules = join(root, 'node_modules');

/** What the blocks leave to their readers' eyes: users annotate, catch errors by type, and must not send wrong bodies. */
const OWN = `import { AgentSessionClient, ApiError, type ChangedMcpTool, type Session, type StreamEvent } from '@agent-session-service/client';
  import { fromPath } from '@agent-session-service/client/node';
  const client = new AgentSessionClient({ baseUrl: 'http://127.0.0.1:8080', apiKey: 'ask_' });
  const session: Session = await client.createSession({ model_id: 'm' });
  const file = await client.uploadFile(await fromPath('a.csv'));
  const onEvent = (event: StreamEvent): void => console.log(event.type);
  interface Order { order: string }
  const tools = { look_up: ({ order }: Order) => ({ order, open: true }) };
  const { end } = await client.run(session.id, { content: 'Hi', files: [file.id] }, { onEvent, tools });
  if (end.type === 'turn.failed') console.log(end.error.message);
  try {
    await client.getSession(file.id);
  } catch (error) {
    if (error instanceof ApiError && error.is('validation_error')) console.log(error.details?.errors[0]?.path);
  }
  for await (const { id } of client.eachSession({ requires_action: true })) console.log(id);
  const properties = ({ after }: ChangedMcpTool): unknown => after.input_schema?.properties;
  const bytes: Uint8Array = new TextEncoder().encode('a,b');
  await client.uploadFile({ filename: 'a.csv', content: bytes });
  console.log(properties);
  // @ts-expect-error content must be there
  await client.sendMessage(session.id, {});`;

/** Every example in JavaScript or TypeScript, by its page and place. */
async function examples(): Promise<Map<string, string>> {
  const pages = (await readdir(join(root, 'docs'), { recursive: true })).map((name) => join('docs', name));
  const found = new Map<string, string>();
  for (const page of ['README.md', 'client/README.md', ...pages.filter((name) => name.endsWith('.md'))]) {
    const blocks = (await readFile(join(root, page), 'utf8')).matchAll(
      /^```(?:js|ts|javascript|typescript)\n(.*?)^```/gms,
    );
    [...blocks].forEach(([, code], index) => found.set(`${page.replaceAll(/\W/g, '-')}-${index}.mts`, code!));
  }
  return found;
}

/** Returns what the compiler finds. */
function compile(folder: string, ...args: string[]): Promise<string> {
  return new Promise((resolve) => {
    const all = [join(modules, 'typescript/bin/tsc'), ...args];
    execFile(process.execPath, all, { cwd: folder }, (_, stdout, stderr) => resolve(stdout + stderr));
  });
}

describe('the types of the packed client, in a project of their own', () => {
  it('the types of the packed client accept every example of the pages, and what users write beyond them', async () => {
    const all = await examples();
    expect([...all.keys()].filter((name) => name.startsWith('client-README'))).to.have.length.of.at.least(4);
    expect(all.size).to.be.at.least(8);
    const { folder, remove } = await installClient();
    for (const [name, code] of all) await writeFile(join(folder, name), code);
    await writeFile(join(folder, 'own.mts'), OWN);
    const options = ['--noEmit', '--strict', '--skipDefaultLibCheck', '--module', 'nodenext', '--target', 'es2022'];
    const types = ['--typeRoots', join(modules, '@types'), '--types', 'node'];
    expect(await compile(folder, ...options, ...types, 'own.mts', ...all.keys())).to.equal('');
    await remove();
  });

  it('the types of the packed client accept examples/order-desk, installed as in a project of its own', async () => {
    const { folder, remove } = await installClient();
    await symlink(join(modules, '@modelcontextprotocol'), join(folder, 'node_modules', '@modelcontextprotocol'));
    await cp(join(root, 'examples/order-desk'), folder, { recursive: true });
    const compilerOptions = {
      ...{ strict: true, noEmit: true, module: 'nodenext', target: 'es2023', resolveJsonModule: true },
      ...{ skipLibCheck: true, types: ['node'], typeRoots: [join(modules, '@types')] },
    };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
    expect(await compile(folder, '-p', '.')).to.equal('');
    await remove();
  });

  it('the types of the packed client accept examples/chat, installed as in a project of its own', async () => {
    const { folder, remove } = await installClient();
    const packages = ['ai', 'react', 'react-dom', 'rxjs', 'marked', 'koa', 'vite'];
    for (const name of [...packages, '@types', '@ai-sdk', '@ag-ui', '@koa', '@modelcontextprotocol']) {
      await symlink(join(modules, name), join(folder, 'node_modules', name));
    }
    await cp(join(root, 'examples/chat'), folder, { recursive: true });
    const compilerOptions = {
      ...{ strict: true, noEmit: true, module: 'esnext', moduleResolution: 'bundler', target: 'es2023' },
      ...{ lib: ['ES2023', 'ESNext.Array', 'DOM', 'DOM.Iterable'], jsx: 'react-jsx', skipLibCheck: true },
      ...{ noUncheckedIndexedAccess: true, types: ['node'] },
    };
    const include = ['server', 'page/src'];
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }));
    expect(await compile(folder, '-p', '.')).to.equal('');
    await remove();
  });
});
