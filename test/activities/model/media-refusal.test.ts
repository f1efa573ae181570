import { expect } from 'chai';
import { refusedMedia } from '../../../activities/model/media-refusal.js';
import type { PlacedMedia } from '../../../src/models/media.js';

/** An old attachment, an image and a document in the result of a tool, and the newest message with two images and a document. */
const MEDIA: PlacedMedia[] = [
  { kind: 'image', key: 'old', path: 'messages.0.content.1' },
  { kind: 'image', key: 'result', path: 'messages.2.content.0.content.1' },
  { kind: 'document', key: 'paper', path: 'messages.2.content.0.content.2' },
  { kind: 'image', key: 'new', path: 'messages.4.content.1' },
  { kind: 'document', key: 'pdf', path: 'messages.4.content.2' },
];
const NEWEST = ['new', 'pdf'];
const ALL = ['old', 'result', 'paper', 'new', 'pdf'];
const OLD = 'messages.0.content.1.image.source.base64';
const RESULT = 'messages.2.content.0.tool_result';
const said = (message: string, more: object = {}): object => ({ type: 'error', error: { message, ...more } });

type Row = [server: string, said: string | object, status?: number];

/** Each names the places of what it refuses. */
const NAMED: [server: string, said: string, keys: string[]][] = [
  ['Anthropic', `${OLD}.data: Could not process image`, ['old']],
  ['Anthropic, by bytes', `${OLD}: image exceeds 5 MB maximum: 7 bytes > 5 bytes`, ['old']],
  [
    'Bedrock, by bytes',
    'The model returned the following errors: messages.4.content.1.image.source.bytes: image exceeds 5 MB maximum',
    ['new'],
  ],
  [
    'Anthropic, by pixels',
    'messages.4.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels',
    ['new'],
  ],
  ['Anthropic, by format', `${OLD}.data: Image format image/png not supported`, ['old']],
  ['Anthropic, by base64', `${OLD}: invalid base64 data`, ['old']],
  ['Anthropic, by media type', `${OLD}.media_type: Input should be 'image/jpeg', 'image/png'`, ['old']],
  [
    'Anthropic, by pages',
    'messages.4.content.2.pdf.source.base64.data: A maximum of 100 PDF pages may be provided.',
    ['pdf'],
  ],
  ['Anthropic, in a result', `${RESULT}.content.1.image.source.base64.data: Could not process image`, ['result']],
  ['Anthropic, two', `messages.0.content.1.image: no; ${RESULT}.content.2.document: no`, ['old', 'paper']],
  ['a result as a whole', `${RESULT}: images are invalid here`, ['result', 'paper']],
];
/** They name no place: the newest are meant. */
const UNNAMED: Row[] = [
  ['Anthropic', 'Could not process image'],
  ['Anthropic, a PDF with a password', 'The PDF specified is password protected.'],
  ['Anthropic, a wrong PDF', 'The PDF specified was not valid.'],
  ['Anthropic, pages', 'A maximum of 100 PDF pages may be provided.'],
  [
    'Anthropic, bytes',
    { type: 'error', error: { type: 'request_too_large', message: 'Request exceeds the maximum size' } },
    413,
  ],
  ['a proxy, bytes', '<html>413 Request Entity Too Large</html>', 413],
  ['Vertex AI, bytes', 'Request payload size exceeds the limit: 30000000 bytes.'],
  [
    'OpenAI',
    "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
  ],
  ['OpenAI, by code', said('Please try another one.', { code: 'invalid_image_format' })],
  ['OpenAI, data', 'The image data you provided does not represent a valid image.'],
  ['OpenAI, file', "Invalid file data: 'file_data'. Expected a base64-encoded PDF."],
  [
    'Gemini',
    'Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting',
  ],
  ['Gemini, an image', 'Provided image is not valid'],
  ['Gemini, a PDF', 'The document has no pages.'],
  ['Gemini, a type', 'Unsupported MIME type: image/gif'],
  ['a gateway, a type', 'Unsupported content type: image/tiff'],
  ['Bedrock', 'ValidationException: Could not process image'],
  ['Bedrock, many', 'too many images and documents: 21 + 3 > 20'],
  ['vLLM, many', 'At most 1 image(s) may be provided in one prompt.'],
  ['vLLM, data', 'Failed to load image: cannot identify image file <_io.BytesIO object>', 500],
  ['LM Studio', 'Failed to process image'],
  ['llama.cpp', 'Failed to load image or audio file', 500],
  ['Ollama', 'invalid image input: image: unknown format', 500],
  ['Kimi', 'Invalid request: unsupported image format: image/webp'],
  ['GLM', '图片输入格式/解析错误，图片无法识别'],
  ['results of tools', 'Image content is not supported in tool messages.'],
];
/** The model takes none at all. */
const BLIND: Row[] = [
  ['a gateway', 'This model does not support image input.'],
  ['Ollama', 'this model does not support image input (ref: b8bd630e)'],
  ['Ollama, by file', 'this model is missing data required for image input', 500],
  ['LM Studio', { error: 'Model does not support images. Please use a model that does.' }],
  ['OpenRouter', 'No endpoints found that support image input', 404],
  ['llama.cpp', 'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj', 500],
  ['llama.cpp, before', 'image input is not supported by this server', 500],
  ['OpenAI', 'Invalid content type. image_url is only supported by certain models.'],
  ['vLLM', 'At most 0 image(s) may be provided in one prompt.'],
  ['vLLM, by name', 'some-model is not a multimodal model'],
  [
    'DeepSeek',
    'Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text`',
  ],
  ['Groq', "This model doesn't support vision"],
  ['llama.cpp, without vision', 'unsupported content[].type', 500],
  ['DashScope', 'The provided messages input is invalid. The error info is [Unexpected item type in content.]'],
  ['a server of text', { detail: "Unknown content type 'image'" }, 422],
  ['a server of text, by part', 'unsupported content part type "image_url": this server accepts text parts only'],
  ['a server of text, in words', 'Only text content is supported.'],
  ['a server of text, by what it takes', 'This model only accepts text inputs'],
  ['GLM', '当前模型不支持图片输入'],
];
const NO_DOCUMENTS: Row[] = [
  ['a gateway', 'This model does not support PDF input.'],
  ['OpenRouter', 'No endpoints found that support file input', 404],
  ['a translator', 'document content blocks are not supported'],
  ['a translator, by type', "Unexpected content block type 'document'"],
];
/** They speak of something else, and stay failures. */
const OTHERS: Row[] = [
  [
    'an output limit',
    'max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for image models',
  ],
  ['the name of a tool', "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"],
  ['a tool by its name', "tool 'image-resize' not found"],
  ['the schema of a tool', 'Invalid schema for function "pdf": the document is invalid'],
  ['another place', 'messages.1.content.0.text: cannot be empty, as an image'],
  ['a signature', 'messages.1.content.0: Invalid `signature` in `thinking` block'],
  ['the context', 'prompt is too long: 210000 tokens > 200000 maximum'],
  [
    'the context, with images',
    "This model's maximum context length is 32000 tokens, your images and messages have 40000",
  ],
  ['a rate', 'Rate limit: at most 10 images per minute'],
  ['a quota', 'Too many requests with images', 429],
  ['a model by its name', "unknown model 'image-chat'"],
  ['a type of something else', "Unknown content type 'server_tool_use'"],
  ['a key', 'Your API key may not send images', 401],
  ['a model that is gone', 'The model some-image-model does not exist', 404],
  ['nothing', '', 400],
  ['itself', 'Upstream gone', 500],
];

const bodyOf = (text: string | object): unknown =>
  typeof text === 'string' && !text.startsWith('<') ? said(text) : text;
const refusedBy = ([, text, status = 400]: Row, earlier = 0): ReturnType<typeof refusedMedia> =>
  refusedMedia({ body: bodyOf(text), status }, MEDIA, earlier);

/** What is refused of each kind of row. */
const KINDS: [title: string, rows: readonly Row[], refused: ReturnType<typeof refusedMedia>][] = [
  ['without a name are the newest', UNNAMED, { keys: NEWEST, kinds: [] }],
  ['are all, if the model has no eyes', BLIND, { keys: [], kinds: ['image', 'document'] }],
  ['are all documents, if it takes none', NO_DOCUMENTS, { keys: [], kinds: ['document'] }],
  ['are none, if it speaks of something else', OTHERS, null],
  ...NAMED.map(([server, text, keys]): (typeof KINDS)[number] => [
    'are those that it names',
    [[server, text]],
    { keys, kinds: [] },
  ]),
];

describe('media that a model’s API refuses', () => {
  for (const [title, rows, refused] of KINDS)
    for (const row of rows)
      it(`media that a model’s API refuses ${title}: ${row[0]}`, () => {
        expect(refusedBy(row)).to.deep.equal(refused);
      });

  it('media that a model’s API refuses again and again are left out at once after four refusals', () => {
    for (const text of ['Could not process image', NAMED[0]![1]]) {
      expect(refusedBy(['', text], 3)!.keys).to.have.length.below(3);
      expect(refusedBy(['', text], 4)).to.deep.equal({ keys: ALL, kinds: [] });
    }
  });

  it('media that a model’s API refuses are none in a request without media, and also those inside an answer', () => {
    const body = said('Could not process image');
    expect(refusedMedia({ body, status: 400 }, [], 0)).to.equal(null);
    expect(refusedMedia({ body, status: null }, MEDIA, 0)).to.deep.equal({ keys: NEWEST, kinds: [] });
  });
});
