import { expect } from 'chai';
import { loadConfig } from '../../src/platform/config.js';
import { openStorage } from '../../src/files/open-storage.js';
import type { Storage } from '../../src/files/storage.js';
import { skillMd, zip } from '../src/skills/zip.js';
import { eventually } from '../support/eventually.js';
import { apiClient, type ApiCall } from '../support/client.js';
import type { FaultSystem, Turn } from '../support/fault-system.js';
import { checkAgainstOpenApi } from '../support/openapi-check.js';
import { text, toolUse, wait, type Block, type Handler } from '../support/scripted-model.js';
import { checkTurns, type StoredEvent, type Watched } from '../support/turn-checker.js';
import { filePart, postParts, upload, type FileBody } from '../support/upload.js';
import { useFaultSystem } from '../support/use.js';

const BODY = 'Read `docs/format.md` before you write anything.';
const FORMAT = 'One line for each fruit, as a heading.';
const TOOLS = ['use_skill', 'read_skill_file', 'read_file', 'deliver_file'];
const FILENAME = 'Bericht März.md';
const REPORT = '# apples: 3';
const EVENTS = [
  'user.message',
  ...['agent.tool_use', 'agent.tool_result', 'agent.tool_use', 'agent.tool_result'],
  ...['agent.tool_use', 'agent.tool_result', 'agent.tool_use', 'agent.file', 'agent.tool_result'],
  ...['agent.message', 'turn.completed'],
];

/** A turn that works with a skill and an attachment, and delivers a file. */
interface Work extends Turn {
  watched: Promise<Watched>;
  /** The requests to the model, by step. */
  requested: string[][];
  /** What a client saw during the last model call, before its answer. */
  beforeEnd: { files: FileBody[]; types: string[] };
  /** Resolves when the turn waits in the step at which it is to be held. */
  held: Promise<void>;
}

/** The agent's material and what it hands over outlive its worker: nothing is lost, and nothing is there twice. */
describe('a turn with a skill, an attachment and a delivered file', () => {
  let client: ApiCall;
  let storage: Storage;
  let skill: { id: string; name: string; description: string };
  let table: FileBody;

  const system = useFaultSystem();
  before(async () => {
    client = apiClient(system.apis[0]!.url, await system.newKey('demo'), checkAgainstOpenApi);
    storage = await openStorage(loadConfig(system.workers[0]!.env));
    const archive = zip([
      { name: 'report/SKILL.md', content: skillMd('report', 'Writes reports.', BODY) },
      { name: 'report/docs/format.md', content: FORMAT },
    ]);
    skill = (await postParts({ api: client }, [filePart('report.zip', archive)], {}, '/v1/skills')).body;
    table = (await upload({ api: client }, 'table.csv', 'name,count\napples,3\n')).body as FileBody;
  });

  const delivered = async (sessionId: string): Promise<FileBody[]> =>
    (await client('GET', `/v1/files?session_id=${sessionId}&origin=OUTPUT`)).body.items as FileBody[];
  const typesOf = (events: StoredEvent[]): string[] => events.map((event) => event.type as string);

  /** Sends the message; the first request for step `holdAt` is never answered. */
  const begin = async (holdAt?: number): Promise<Work> => {
    const { model } = system;
    const sessionId = await system.session();
    const gate = model.gate();
    const requested: string[][] = [[], [], [], [], []];
    const work: Work = {
      sessionId,
      turnId: '',
      watched: Promise.resolve({ turnId: '', frames: [] }),
      requested,
      beforeEnd: { files: [], types: [] },
      held: gate.reached,
    };
    const replyTo = async (step: number, read: string): Promise<Block> => {
      if (step === 0) return toolUse('use_skill', { name: 'report' });
      if (step === 1) return toolUse('read_skill_file', { skill: 'report', path: 'docs/format.md' });
      if (step === 2) return toolUse('read_file', { file_id: table.id });
      if (step === 3) {
        const count = /apples,(\d+)/.exec(read)?.[1];
        return toolUse('deliver_file', { filename: FILENAME, content: `# apples: ${count}` });
      }
      work.beforeEnd = { files: await delivered(sessionId), types: typesOf(await system.history(sessionId)) };
      return text('Delivered.');
    };
    const agent: Handler = async ({ step, body }) => {
      const read = JSON.stringify(body);
      const first = requested[step]!.push(read) === 1;
      const reply = await replyTo(step, read);
      return first && step === holdAt ? [wait(gate), reply] : reply;
    };
    model.on(new RegExp(sessionId), agent);
    const message = { content: `Report for ${sessionId}`, files: [table.id], skills: [skill.id] };
    const sent = await client('POST', `/v1/sessions/${sessionId}/messages`, message);
    expect(sent.status).to.equal(201);
    work.turnId = sent.body.turn_id as string;
    work.watched = system.watch(work);
    return work;
  };

  /** Everything that a turn of this kind leaves: judged the same whether its worker lived or died. */
  const judge = async (work: Work): Promise<void> => {
    const { sessionId, requested } = work;
    expect(await system.ended(work)).to.include({ type: 'turn.completed', stop_reason: 'end_turn' });
    const events = await system.history(sessionId);
    expect(typesOf(events)).to.deep.equal(EVENTS);
    const { status } = (await client('GET', `/v1/sessions/${sessionId}`)).body;
    const evidence = {
      accepted: [work],
      histories: new Map([[sessionId, events]]),
      statuses: new Map([[sessionId, status as string]]),
      watched: [await work.watched],
    };
    expect(checkTurns(evidence)).to.deep.equal([]);

    const { id, name, description } = skill;
    expect(events[0].skills).to.deep.equal([{ id, name, description }]);
    const results = events.filter((event) => event.type === 'agent.tool_result');
    expect(results.map((event) => event.name as string)).to.deep.equal(TOOLS);
    expect(results.map((event) => event.is_error as boolean)).to.deep.equal([false, false, false, false]);
    expect(requested[0]![0]).to.contain('Writes reports.').and.contain('table.csv');
    [BODY, FORMAT, 'apples,3', `Delivered \\"${FILENAME}\\"`].forEach((news, step) => {
      expect(requested[step]!.at(-1), `step ${step}`).not.to.contain(news);
      expect(requested[step + 1]!.at(-1)!.split(news), `step ${step + 1}`).to.have.length(2);
    });

    const files = await delivered(sessionId);
    expect(files).to.have.length(1);
    const [file] = files as [FileBody];
    expect(work.beforeEnd.files).to.deep.equal(files);
    expect(work.beforeEnd.types).to.deep.equal(EVENTS.slice(0, -2));
    expect(events.find((event) => event.type === 'agent.file').file).to.deep.equal({
      id: file.id,
      filename: FILENAME,
      mime_type: 'text/markdown',
      size_bytes: REPORT.length,
    });
    expect(results.at(-1).content).to.contain(file.id);
    await expectDownload(file);
  };

  /** The link works without a key, and saves the file under its name. */
  const expectDownload = async (file: FileBody): Promise<void> => {
    const { status, headers } = await client('GET', `/v1/files/${file.id}/content`);
    expect(status).to.equal(307);
    const download = await fetch(headers.get('location')!);
    expect(download.status).to.equal(200);
    expect(await download.text()).to.equal(REPORT);
    expect(download.headers.get('content-type')).to.match(/^text\/markdown/);
    expect(download.headers.get('content-disposition')).to.contain(`filename*=UTF-8''Bericht%20M%C3%A4rz.md`);
  };

  /** Each file has its object, and there is no object besides. */
  const expectObjectsOfRows = async (): Promise<void> => {
    const rows = await system.db.query<{ storage_key: string }[]>('SELECT storage_key FROM files');
    const objects: string[] = [];
    for await (const { key } of storage.list('files/')) objects.push(key);
    expect(objects).to.have.members(rows.map((row) => row.storage_key));
  };

  it('a turn with a skill, an attachment and a delivered file reads its files; the user downloads the delivered file', async () => {
    const work = await begin();
    await judge(work);
    expect(work.requested.map((requests) => requests.length)).to.deep.equal([1, 1, 1, 1, 1]);
    await expectObjectsOfRows();
  });

  describe('whose worker is killed', () => {
    const stopped: Work[] = [];
    let within: Work;

    before(async () => {
      stopped.push(...(await Promise.all([1, 2, 3, 4].map((step) => begin(step)))));
      await Promise.all(stopped.map((work) => work.held));
      // The row of the last turn's file has to wait, its object has not.
      const lock = system.db.createQueryRunner();
      await lock.startTransaction();
      await lock.query('LOCK TABLE files IN SHARE MODE');
      try {
        within = await begin();
        await insertWaits(system);
        await system.workers[0]!.kill();
      } finally {
        await lock.rollbackTransaction();
        await lock.release();
      }
      expect(await delivered(within.sessionId)).to.deep.equal([]);
      await system.addRole('worker');
    });

    TOOLS.forEach((tool, index) => {
      it(`a turn whose worker is killed after ${tool}: another worker goes on with the next step`, async () => {
        await judge(stopped[index]!);
        const asked = stopped[index]!.requested.map((requests) => requests.length);
        expect(asked).to.deep.equal([0, 1, 2, 3, 4].map((step) => (step === index + 1 ? 2 : 1)));
      });
    });

    it('a worker killed within deliver_file, between the object and its row, leaves one of each', async () => {
      await judge(within);
      expect(within.requested.map((requests) => requests.length)).to.deep.equal([1, 1, 1, 1, 1]);
      await expectObjectsOfRows();
    });
  });
});

/** Until a transaction waits to add the row of a file, whose object is then stored. */
async function insertWaits({ db }: FaultSystem): Promise<void> {
  await eventually('a file waits for the lock', async () => {
    const [row] = await db.query<[{ waiting: number }]>(
      `SELECT count(*)::integer AS waiting FROM pg_locks
       WHERE NOT granted AND relation = 'files'::regclass
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    return row.waiting > 0;
  });
}
