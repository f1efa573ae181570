import { expect } from 'chai';
import fc from 'fast-check';
import type { BuiltRequest } from '../../../activities/prompt/build-request.js';
import { signThinking } from '../../../dev/fake-model/wire.js';
import { seedSession, type StepSeed, type TurnSeed } from '../../support/conversations.js';
import { openRequestBuilder, type RequestBuilder } from '../../support/request-builder.js';
import { validate } from '../../../dev/fake-model/validator.js';
import type { AssistantBlock, ResultBlock } from '../../../src/models/content.js';

const said = fc.oneof(
  fc.string({ maxLength: 30 }),
  fc.constantFrom('', ' \n', 'A text.', '日本語 🙂', 'ends in space '),
);
const toolName = fc.constantFrom(
  'list_files',
  'read_file',
  'mcp__a__b',
  `mcp__a__${'x'.repeat(120)}`,
  'not a name!',
  '',
);

const thinkingBlock = fc.oneof(
  fc.string({ minLength: 1, maxLength: 20 }).map((thinking): AssistantBlock => {
    return { type: 'thinking', thinking, signature: signThinking(thinking) };
  }),
  fc.constantFrom<AssistantBlock>(
    { type: 'redacted_thinking', data: 'cmVkYWN0ZWQ=' },
    // Gateways send these, and the API refuses them.
    { type: 'redacted_thinking', data: '' },
    { type: 'thinking', thinking: 'Hm.', signature: '' },
  ),
);
const textBlock = said.map((text): AssistantBlock => ({ type: 'text', text }));
const useBlock = fc.record({
  type: fc.constant('tool_use' as const),
  id: fc.constant('set by numbered'),
  name: toolName,
  input: fc.constantFrom({}, { file_id: 'f' }, { deep: { list: [1, null, 'x'] } }),
}) satisfies fc.Arbitrary<AssistantBlock>;

const resultBlock = fc.oneof(
  said.map((text): ResultBlock => ({ type: 'text', text })),
  fc.constantFrom<ResultBlock>(
    { type: 'image', media_type: 'image/png', storage_key: 'results/a/pixel' },
    { type: 'image', media_type: 'image/png', storage_key: 'results/a/lost' },
    { type: 'document', media_type: 'application/pdf', storage_key: 'results/a/paper', title: 'Paper' },
  ),
);
const result = fc.record({ content: fc.array(resultBlock, { maxLength: 3 }), isError: fc.boolean() });

const answer = (uses: { minLength: number; maxLength: number }): fc.Arbitrary<AssistantBlock[]> =>
  fc
    .tuple(fc.array(thinkingBlock, { maxLength: 2 }), fc.array(textBlock, { maxLength: 2 }), fc.array(useBlock, uses))
    .chain(([thinking, texts, calls]) =>
      fc
        .shuffledSubarray([...thinking, ...texts], { minLength: thinking.length + texts.length })
        .map((prose) => [...prose, ...calls]),
    );

/** A step of a turn that is under way: every call has its result. */
const toolStep = answer({ minLength: 1, maxLength: 3 }).chain((content): fc.Arbitrary<StepSeed> => {
  const uses = content.filter(({ type }) => type === 'tool_use').length;
  return fc.record({ content: fc.constant(content), calls: fc.array(result, { minLength: uses, maxLength: uses }) });
});
/** The last step of a turn that something broke off: any of its calls may have no result. */
const brokenStep = answer({ minLength: 1, maxLength: 3 }).chain((content): fc.Arbitrary<StepSeed> => {
  const uses = content.filter(({ type }) => type === 'tool_use').length;
  return fc.record({
    content: fc.constant(content),
    calls: fc.array(fc.option(result), { minLength: uses, maxLength: uses }),
  });
});
const lastStep = fc.record({
  content: answer({ minLength: 0, maxLength: 0 }),
  stopReason: fc.constantFrom('end_turn', 'max_tokens', 'refusal', 'pause_turn'),
});
const file = fc.constantFrom({ id: 'file_gone', filename: 'a "b".png', mime_type: 'image/png', size_bytes: 3 });
const message = fc.record({
  content: said.filter((text) => text.trim() !== ''),
  files: fc.array(file, { maxLength: 1 }),
});

const pastTurn: fc.Arbitrary<TurnSeed> = fc.oneof(
  fc
    .tuple(message, fc.array(toolStep, { maxLength: 2 }), lastStep)
    .map(([sent, steps, last]): TurnSeed => ({ state: 'completed', ...sent, steps: [...steps, last] })),
  fc
    .tuple(
      fc.constantFrom('cancelled' as const, 'failed' as const),
      message,
      fc.array(toolStep, { maxLength: 2 }),
      fc.option(brokenStep),
      fc.option(said, { nil: undefined }),
    )
    .map(([state, sent, steps, broken, cutOff]): TurnSeed => {
      return { state, ...sent, steps: broken === null ? steps : [...steps, broken], cutOff };
    }),
);
const currentTurn = fc
  .tuple(message, fc.array(toolStep, { maxLength: 3 }), fc.option(answer({ minLength: 0, maxLength: 0 })))
  .map(([sent, steps, paused]): TurnSeed => {
    const more = paused === null ? [] : [{ content: paused, stopReason: 'pause_turn' }];
    return { state: 'running', ...sent, steps: [...steps, ...more] };
  });

describe('the request for any state of a session', () => {
  let builder: RequestBuilder;
  before(async () => {
    builder = await openRequestBuilder();
    const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const { storage } = builder.files;
    await storage.put('results/a/pixel', Buffer.from(pixel, 'base64'), { contentType: 'image/png' });
    await storage.put('results/a/paper', Buffer.from('%PDF-1.4 %%EOF'), { contentType: 'application/pdf' });
  });
  after(() => builder.close());

  it('the request for any state of a session is one that the model accepts', async () => {
    const session = fc.record({
      past: fc.array(pastTurn, { maxLength: 4 }),
      current: currentTurn,
      summarised: fc.nat({ max: 4 }),
      thinking: fc.boolean(),
      style: fc.constantFrom('adaptive' as const, 'budget' as const, 'none' as const),
      max_output_tokens: fc.constantFrom(500, 8000),
    });
    await fc.assert(
      fc.asyncProperty(session, async ({ summarised, thinking, style, max_output_tokens, ...turns }) => {
        const [current, ...past] = numbered([turns.current, ...turns.past]) as [TurnSeed, ...TurnSeed[]];
        const { sessionId, turnId } = await seedSession(builder.db, [...past, current], { thinking });
        const upTo = Math.min(summarised, past.length);
        if (upTo > 0) {
          await builder.db.query(
            `INSERT INTO compactions (session_id, turn_number, summary) VALUES ($1, $2, 'So far.')`,
            [sessionId, upTo],
          );
        }
        const built = await builder.build(turnId, { thinking: style, max_output_tokens });
        const { request } = built as BuiltRequest;
        const thoughtful = callsAfterThinking([...past, current]);
        validate({ ...request, stream: true }, { signed, calledAfterThinking: (id) => thoughtful.has(id) });
        expect(shownIds(request)).to.deep.equal(expectedIds([...past.slice(upTo), current]));
      }),
      { numRuns: 150, interruptAfterTimeLimit: 40_000 },
    );
  });
});

/** Shrinking makes equal ids of different ones. */
function numbered(turns: TurnSeed[]): TurnSeed[] {
  let number = 0;
  const withIds = (block: AssistantBlock): AssistantBlock =>
    block.type === 'tool_use' ? { ...block, id: `toolu_${(number += 1)}` } : block;
  return turns.map((turn) => ({
    ...turn,
    steps: (turn.steps ?? []).map((step) => ({ ...step, content: step.content.map(withIds) })),
  }));
}

const signed = (thinking: string, signature: string): boolean => signThinking(thinking) === signature;

function isSent(block: AssistantBlock): boolean {
  if (block.type === 'thinking') return block.signature !== '';
  if (block.type === 'redacted_thinking') return block.data !== '';
  return block.type !== 'text' || block.text.trim() !== '';
}

function callsAfterThinking(turns: TurnSeed[]): Set<string> {
  const steps = turns.flatMap((turn) => turn.steps ?? []);
  const thoughtful = steps.filter(({ content }) => content.find(isSent)?.type.includes('thinking'));
  return new Set(
    thoughtful.flatMap(({ content }) => content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []))),
  );
}

function shownIds({ messages }: BuiltRequest['request']): string[] {
  return messages.flatMap(({ content }) =>
    typeof content === 'string' ? [] : content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : [])),
  );
}

/** Every call of every turn, but of those that the model refused to answer. */
function expectedIds(turns: TurnSeed[]): string[] {
  const kept = turns.filter(
    (turn, index) => index === turns.length - 1 || turn.steps?.at(-1)?.stopReason !== 'refusal',
  );
  return kept.flatMap((turn) =>
    (turn.steps ?? []).flatMap((step) =>
      step.content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : [])),
    ),
  );
}
