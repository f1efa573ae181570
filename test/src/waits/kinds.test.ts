import { expect } from 'chai';
import { ServiceError } from '../../../src/platform/errors.js';
import { approval } from '../../../src/waits/kinds/approval.js';
import { budget } from '../../../src/waits/kinds/budget.js';
import { clientTool } from '../../../src/waits/kinds/client-tool.js';
import { kindOf, WAIT_KINDS } from '../../../src/waits/kinds/index.js';
import { login } from '../../../src/waits/kinds/login.js';
import { question, type AskedQuestion } from '../../../src/waits/kinds/question.js';
import { time } from '../../../src/waits/kinds/time.js';
import { requiredAction } from '../../../src/events/required-action.js';
import { STOP_REASONS } from '../../../src/events/fields.js';
import { stopReasonOnExpiry } from '../../../src/waits/advance.js';
import { unrunResult } from '../../../src/waits/unrun-result.js';

const confirm = (result: 'allow' | 'deny', deny_message: string | null = null) => ({
  ...{ tool_use_id: 'toolu_1', result, deny_message, input: null, remember: null },
  actor: null,
});
const given = (content: string, is_error = false) => ({ tool_use_id: 'toolu_1', content, is_error, actor: null });
const LOGIN = { mcp_server_id: 'mcp_1', end_user: 'ada' };
const FORM: AskedQuestion = {
  mode: 'form',
  message: 'Which city?',
  requested_schema: { type: 'object', properties: { city: { type: 'string', maxLength: 5 } }, required: ['city'] },
  url: null,
  request: '1',
};
const PAGE: AskedQuestion = { ...FORM, mode: 'url', requested_schema: null, url: 'https://a.example/' };
const answerOf = (action: 'accept' | 'decline' | 'cancel', content: Record<string, string> | null = null) => ({
  elicitation_id: 'elic_1',
  ...{ action, content },
  actor: null,
});
/** The place that a refusal names, or the outcome. */
function placeOf(work: () => string): string {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return (error.details as { errors: { path: string }[] }).errors[0]!.path;
  }
}

describe('the kinds of waits', () => {
  it('the kinds of waits that ask somebody are those whose actions the schema describes, each with SQL for its own', () => {
    const described = new Set(
      requiredAction.oneOf.map((one) => {
        const { type } = ('oneOf' in one ? one.oneOf[0] : one).properties;
        return type.const;
      }),
    );
    const asking = WAIT_KINDS.filter(({ action }) => action !== null);
    expect(asking.map(({ type }) => type)).to.have.members([...described]);
    for (const kind of asking) {
      expect(kind.action, kind.type).to.match(/'expires_at', to_char\(w\.expires_at/);
      expect(kindOf(kind.type)).to.equal(kind);
    }
  });

  it('an approval comes to what the person says, and an expired one does not say that it was denied', () => {
    const { 'user.tool_confirmation': outcomeOf } = approval.answers;
    expect(outcomeOf({}, confirm('allow'), '')).to.equal('allowed');
    expect(outcomeOf({}, confirm('deny'), '')).to.equal('denied');
    expect(approval.resultOf('allowed', confirm('allow'))).to.equal(null);
    expect(approval.resultOf('denied', confirm('deny', 'Too dear.'))).to.deep.include({ isError: true });
    expect(approval.resultOf('denied', confirm('deny', 'Too dear.'))!.text).to.include('The person wrote: Too dear.');
    expect(approval.resultOf('denied', confirm('deny'))!.text).to.include('No reason was given.');
    expect(approval.resultOf('expired', null)!.text)
      .to.match(/not answered in time/)
      .and.not.match(/den(y|ied)/);
  });

  it('the result of a client tool is the client’s, and an expired call may have run', () => {
    expect(clientTool.resultOf('answered', given('12 °C'))).to.deep.equal({
      ...{ text: '12 °C', isError: false },
      isClientResult: true,
    });
    expect(clientTool.resultOf('answered', given('broken', true))).to.include({ isError: true });
    const expired = clientTool.resultOf('expired', null)!;
    expect(expired.text)
      .to.match(/not answered in time/)
      .and.match(/outcome is unknown/);
    expect(expired.isClientResult).to.equal(undefined);
  });

  it('an answer to a question fits its form; a page has no content', () => {
    const { 'user.elicitation_result': outcomeOf } = question.answers;
    const of = (ask: AskedQuestion, ...answer: Parameters<typeof answerOf>): string =>
      placeOf(() => outcomeOf(ask, answerOf(...answer), '/events/2'));
    expect(of(FORM, 'accept', { city: 'Rome' })).to.equal('answered');
    expect(of(FORM, 'decline')).to.equal('answered');
    expect(of(PAGE, 'accept')).to.equal('answered');
    expect(of(FORM, 'accept')).to.equal('/events/2/content');
    expect(of(FORM, 'accept', { city: 'Florence' })).to.equal('/events/2/content/city');
    expect(of(FORM, 'accept', { town: 'Rome' })).to.equal('/events/2/content/city');
    expect(of(FORM, 'cancel', { city: 'Rome' })).to.equal('/events/2/content');
    expect(of(PAGE, 'accept', { city: 'Rome' })).to.equal('/events/2/content');
  });

  it('a call that waits for a login can be denied alone, and runs once its server is authorized', () => {
    const { 'user.tool_confirmation': outcomeOf } = login.answers;
    expect(placeOf(() => outcomeOf(LOGIN, confirm('allow'), '/events/0'))).to.equal('/events/0/result');
    expect(outcomeOf(LOGIN, confirm('deny'), '/events/0')).to.equal('denied');
    expect(login.resultOf('authorized', null)).to.equal(null);
    expect(login.resultOf('denied', confirm('deny', 'No.'))!.text)
      .to.include('did not authorize')
      .and.include('No.');
    expect(login.resultOf('expired', null)!.text).to.include('not authorized in time');
  });

  it('a call that waits until a time asks nobody, and runs however its wait has ended', () => {
    const { 'user.tool_confirmation': outcomeOf } = time.answers;
    expect(time.action).to.equal(null);
    expect(outcomeOf({}, confirm('allow'), '')).to.equal('allowed');
    expect(outcomeOf({}, confirm('deny'), '')).to.equal('denied');
    for (const outcome of ['allowed', 'denied', 'expired'] as const)
      expect(time.resultOf(outcome, null)).to.equal(null);
    expect(stopReasonOnExpiry(['time'])).to.equal(null);
  });

  it('a call without a wait that has ended has no result yet', () => {
    expect(unrunResult({ kind: 'tool_confirmation', outcome: null, answer: null })).to.equal(null);
    expect(unrunResult({ kind: 'tool_confirmation', outcome: 'allowed', answer: confirm('allow') })).to.equal(null);
    expect(unrunResult({ kind: 'custom_tool_result', outcome: 'expired', answer: null })).to.include({ isError: true });
  });

  it('an expired budget ends its turn, every other wait is closed', () => {
    expect(STOP_REASONS).to.include(budget.onExpiry);
    expect(
      stopReasonOnExpiry(['tool_confirmation', 'mcp_authorization', 'custom_tool_result', 'elicitation']),
    ).to.equal(null);
    expect(stopReasonOnExpiry(['tool_confirmation', 'budget'])).to.equal('budget_reached');
    expect(Object.keys(budget.answers)).to.deep.equal([]);
  });
});
