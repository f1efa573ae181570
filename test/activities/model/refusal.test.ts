import { APIError } from '@anthropic-ai/sdk';
import { expect } from 'chai';
import { ModelAnswerError, modelFailureOf } from '../../../activities/model/failures.js';
import { Redactor } from '../../../src/platform/redactor.js';

const KEY = 'sk-scripted-0123456789abcdef';
const redactor = new Redactor([KEY]);

/** As the SDK reports it. */
const refused = (status: number, error: unknown): object =>
  modelFailureOf(
    Object.assign(new Error('refused'), { status, error, headers: new Headers(), requestID: null }),
    redactor,
  );
const refusedInside = (error: unknown): object => modelFailureOf(new ModelAnswerError(error, new Headers()), redactor);
const said = (message: string, more: object = {}): object => ({ error: { message, ...more } });

const TOO_LONG: Record<string, object> = {
  Anthropic: said('prompt is too long: 40000 tokens > 32000 maximum', { type: 'invalid_request_error' }),
  'Anthropic, with the answer': said('input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000'),
  'llama.cpp': said('request (40000 tokens) exceeds the available size', {
    code: 400,
    type: 'exceed_context_size_error',
  }),
  Bedrock: said('Input is too long for requested model.'),
  'Bedrock, by schema': said('Malformed input request: expected maxLength: 200000, actual: 400000, please reformat'),
  LiteLLM: said('litellm.ContextWindowExceededError: AnthropicException - too long'),
  Gemini: said('The input token count (40000) exceeds the maximum number of tokens allowed (32000).'),
  'Vertex AI': said(
    'Unable to submit request because the input token count is 4,100,000 but model only supports up to 1048576.',
  ),
  SGLang: {
    object: 'error',
    message: "The input (40000 tokens) is longer than the model's context length (32000 tokens).",
  },
  'LM Studio': { error: 'The number of tokens to keep from the initial prompt is greater than the context length.' },
  OpenAI: said('Please use fewer words.', { code: 'context_length_exceeded' }),
  'OpenAI, in words': said('Your input exceeds the context window of this model'),
  vLLM: said("This model's maximum context length is 32000 tokens. However, you requested 40000 tokens"),
  'vLLM, by its engine': said('The decoder prompt (length 40000) is longer than the maximum model length of 32000.'),
  Ollama: { error: 'prompt too long; exceeded max context length by 4 tokens' },
  'TensorRT-LLM': said('The sum of prompt length (40000.0), query length (0) should not exceed max_seq_len (32000)'),
  'Text Generation Inference': { error: '`inputs` tokens + `max_new_tokens` must be <= 32000. Given: 40000' },
  OpenRouter: said("This endpoint's maximum context length is 32000 tokens. However, you requested about 40000 tokens"),
  Poolside: said('Input length 40000 exceeds the maximum allowed input length of 32000 tokens.'),
  xAI: said("This model's maximum prompt length is 32000 but the request contains 40000 tokens."),
  Groq: said('Please reduce the length of the messages or completion.'),
  Mistral: { object: 'error', message: 'Prompt contains 40000 tokens, too large for model with 32768 maximum' },
  Cohere: { message: 'too many tokens: total number of tokens in the prompt cannot exceed 4081' },
  Copilot: said('prompt token count of 140000 exceeds the limit of 128000'),
  Qwen: said('<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]'),
  GLM: said('Prompt exceeds max length', { code: '1261' }),
  'GLM, in Chinese': said('Prompt 超长', { code: '1261' }),
  Kimi: said('Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)'),
  MiniMax: { base_resp: { status_code: 2013, status_msg: 'invalid params, context window exceeds limit' } },
  Cloudflare: {
    errors: [{ code: 5021, message: 'The estimated number of input tokens exceeded this model context window limit' }],
  },
  'Vertex AI, by bytes': said('Request payload size exceeds the limit: 524288 bytes.', { status: 'INVALID_ARGUMENT' }),
  FastAPI: { detail: [{ loc: ['body', 'messages'], msg: 'prompt is too long', type: 'value_error' }] },
};

describe('a request that a model refuses', () => {
  for (const [server, body] of Object.entries(TOO_LONG)) {
    it(`a request that a model refuses is too long, as ${server} says it`, () => {
      expect(refused(400, body)).to.include({ type: 'context_too_long', retryable: false });
      expect(refusedInside(body)).to.include({ type: 'context_too_long' });
    });
  }

  const plain = (status: number, text: string): object =>
    modelFailureOf(APIError.generate(status, undefined, text, new Headers()), redactor);

  it('a request that a model refuses is read when its body is no JSON', () => {
    expect(plain(400, 'context length exceeded\n')).to.include({ type: 'context_too_long', retryable: false });
    for (const [text, reason] of [
      [`no such key ${KEY}\n`, ' no such key [credential].'],
      ['<html><title>Bad Gateway</title></html>', ''],
      ['', ''],
      [`event: error\ndata: ${JSON.stringify({ type: 'error', error: { message: 'No' } })}\n\n`, ' No.'],
    ] as const) {
      expect(plain(400, text)).to.include({ message: `The model refused the call (HTTP 400).${reason}` });
    }
    expect(plain(413, '<html>')).to.include({ type: 'context_too_long' });
  });

  it('a request that a model refuses is not too long if its rate, its output or something else is too much', () => {
    expect(refused(429, said('Too many tokens per minute'))).to.include({ type: 'model_rate_limited' });
    for (const message of [
      'ThrottlingException: Too many tokens, please wait before trying again.',
      'Rate limit reached for input tokens',
      'max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for this model',
      'max_output_tokens (200000) exceeds model maximum output tokens (128000)',
      'tools.0.name: String should have at most 128 characters',
      'Invalid `signature` in `thinking` block',
    ]) {
      expect(refused(400, said(message)), message).to.include({ type: 'model_error', retryable: false });
    }
    expect(refused(401, said('no access to this context window'))).to.include({ type: 'model_error' });
  });

  const REASONS: [body: unknown, reason: string][] = [
    [{ type: 'error', error: { type: 'invalid_request_error', message: 'No' } }, 'No.'],
    [[{ error: { code: 400, message: 'No' } }], 'No.'],
    [{ message: 'No' }, 'No.'],
    [{ detail: 'No' }, 'No.'],
    [{ error: 'No' }, 'No.'],
    [{ error: { error: { message: 'No' } } }, 'No.'],
    [{ code: 500, msg: 'No', success: false }, 'No.'],
    [
      { detail: [{ loc: ['body', 'tools', 0], msg: 'Field required', input: 'secret' }, { msg: 'No' }] },
      'body.tools.0: Field required; No.',
    ],
    [{ error: { message: `Bad key ${KEY}` } }, 'Bad key [credential].'],
    [{ error: { message: 7 }, detail: [[[[['deep']]]]] }, ''],
    [undefined, ''],
  ];
  for (const [body, reason] of REASONS) {
    it(`a request that a model refuses gives its reason: ${JSON.stringify(body)?.slice(0, 60)}`, () => {
      expect(refused(403, body)).to.include({ message: `The model refused the call (HTTP 403). ${reason}`.trim() });
    });
  }

  it('a request that a model refuses gives at most 500 characters of its reason', () => {
    const { message } = refused(400, said('x'.repeat(100_000))) as { message: string };
    expect(message.length).to.be.below(600);
  });

  it('a request that a model refuses inside an answer is tried again, unless the request is wrong', () => {
    const retryable = (error: unknown): unknown => (refusedInside({ error }) as { retryable: boolean }).retryable;
    for (const error of [{ type: 'internal_error' }, { type: 'None', code: '500' }, 'Upstream'])
      expect(retryable(error), JSON.stringify(error)).to.equal(true);
    for (const error of [{ type: 'invalid_request_error' }, { code: 401 }])
      expect(retryable({ ...error, message: 'No' }), JSON.stringify(error)).to.equal(false);
    expect(refusedInside({ error: { code: 429, message: 'Slow' } })).to.include({ type: 'model_rate_limited' });
  });
});
