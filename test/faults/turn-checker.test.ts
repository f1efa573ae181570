import { expect } from 'chai';
import { checkTurns, type Evidence, type SeenFrame, type StoredEvent } from '../support/turn-checker.js';

const TURN = 'turn_1';
const SESSION = 'ses_1';

/** A turn as it should be, with a watcher that saw all of it. */
function good(): Evidence {
  const event = (n: number, type: string, data: object): StoredEvent => ({
    id: `evt_${n}`,
    type,
    turn_id: TURN,
    created_at: `2026-11-21T10:00:00.00000${n}Z`,
    ...data,
  });
  const events = [
    event(1, 'user.message', { content: 'Hello' }),
    event(2, 'agent.message', { message_id: 'msg_1', content: 'I look it up.' }),
    event(3, 'agent.tool_use', { tool_use_id: 'toolu_1', name: 'list_files', input: {} }),
    event(4, 'agent.tool_result', { tool_use_id: 'toolu_1', name: 'list_files', is_error: false, content: '' }),
    event(5, 'agent.message', { message_id: 'msg_2', content: 'Done.' }),
    event(6, 'turn.completed', {}),
  ];
  const delta = (place: string, message_id: string, content: string): SeenFrame => ({
    id: `${TURN}:${place}`,
    event: 'agent.message.delta',
    data: { type: 'agent.message.delta', turn_id: TURN, message_id, content },
  });
  const stored = events.map((data, index) => ({ id: `${TURN}:${index + 1}`, event: data.type as string, data }));
  const frames = [
    stored[0]!,
    delta('1.1.1', 'msg_1', 'I look'),
    delta('1.1.2', 'msg_1', ' it up.'),
    ...stored.slice(1, 4),
    delta('4.1.1', 'msg_2', 'Do'),
    ...stored.slice(4),
  ];
  return structuredClone({
    accepted: [{ turnId: TURN, sessionId: SESSION }],
    histories: new Map([[SESSION, events]]),
    statuses: new Map([[SESSION, 'COMPLETE']]),
    watched: [{ turnId: TURN, frames }],
  });
}

const history = (evidence: Evidence): StoredEvent[] => evidence.histories.get(SESSION)!;
const frames = (evidence: Evidence): SeenFrame[] => evidence.watched[0]!.frames;
const swap = <T>(list: T[], a: number, b: number): void => {
  [list[a], list[b]] = [list[b]!, list[a]!];
};

const BAD: [title: string, spoil: (evidence: Evidence) => void, fault: RegExp][] = [
  ['an event twice in the history', (bad) => history(bad).splice(2, 0, history(bad)[2]), /evt_3 .* more than once/],
  ['an event that the history lacks', (bad) => history(bad).splice(4, 1), /saw .*; the history has/],
  ['an event that the watcher lacks', (bad) => frames(bad).splice(3, 1), /stored event 2 has the SSE id/],
  ['a missing end', (bad) => history(bad).pop(), /no terminal event/],
  [
    'two ends',
    (bad) => history(bad).push({ ...history(bad)[5], id: 'evt_7', type: 'turn.cancelled' }),
    /2 terminal events: turn.completed turn.cancelled/,
  ],
  ['an end that is not the last', (bad) => swap(history(bad), 4, 5), /events after the terminal one/],
  ['reordered events', (bad) => swap(history(bad), 1, 2), /older than the one before it/],
  ['reordered frames', (bad) => swap(frames(bad), 1, 2), /1\.1\.1 seen after .*1\.1\.2/],
  ['a frame twice over a reconnect', (bad) => frames(bad).splice(2, 0, frames(bad)[1]!), /1\.1\.1 seen twice/],
  ['a message stored twice', (bad) => (history(bad)[4].message_id = 'msg_1'), /agent.message msg_1 more than once/],
  [
    'a tool result twice',
    (bad) => history(bad).splice(4, 0, { ...history(bad)[3], id: 'evt_8' }),
    /result of toolu_1 more/,
  ],
  ['a tool use without its result', (bad) => history(bad).splice(3, 1), /completed without the result of toolu_1/],
  ['deltas that are not the message', (bad) => (frames(bad)[2]!.data.content = ' it down.'), /not the beginning/],
  ['other data live than stored', (bad) => (frames(bad)[3]!.data = { type: 'agent.message' }), /saw .*; the history/],
  ['a turn that is lost', (bad) => bad.histories.clear(), /accepted, but not in the history/],
  ['a session left running', (bad) => bad.statuses.set(SESSION, 'RUNNING'), /status RUNNING after turn.completed/],
  ['a frame of another turn', (bad) => (frames(bad)[0]!.id = 'turn_2:1'), /none of this turn/],
];

describe('the checker of turns', () => {
  it('the checker of turns finds nothing wrong with a good history', () => {
    expect(checkTurns(good())).to.deep.equal([]);
  });

  it('the checker of turns accepts fragments that were missed over a reconnect', () => {
    const evidence = good();
    frames(evidence).splice(1, 1);
    expect(checkTurns(evidence)).to.deep.equal([]);
  });

  for (const [title, spoil, fault] of BAD) {
    it(`the checker of turns finds ${title}`, () => {
      const evidence = good();
      spoil(evidence);
      expect(checkTurns(evidence).join('\n')).to.match(fault);
    });
  }
});
