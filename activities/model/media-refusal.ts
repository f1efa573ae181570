import type { PlacedMedia } from '../../src/models/media.js';
import type { RefusedMedia } from '../../src/steps/refused-media.js';
import { refusalReason, refusalType, saysLimit, saysTooLong } from './refusal.js';

/** After so many refusals of a turn, all media of its next request are left out. */
const MAX_REFUSALS = 4;
/** OpenRouter answers 404, llama.cpp 500 for a model that takes no images. */
const STATUSES = new Set([400, 404, 413, 415, 422, 500, 501]);

const IMAGES = String.raw`(?:images?|image_urls?|image[ _]inputs?|vision|visual|multi-?modal|media)`;
const DOCUMENTS = String.raw`(?:pdfs?|documents?|files?|file[ _]inputs?)`;
const INPUT = String.raw`(?: (?:inputs?|contents?|data|urls?|blocks?|modality|messages?|types?))*`;

/** The ways in which servers say that the model takes no media of a kind at all. */
const takesNone = (kind: string): RegExp[] => [
  new RegExp(
    String.raw`\b(?:does|do|did|can)(?: not|n['’]t|not) (?:currently |yet )?(?:support|accept|have|process|read|see|handle) (?:any |the )?${kind}\b`,
    'i',
  ),
  new RegExp(
    String.raw`\b${kind}${INPUT} (?:is|are)(?: not|n['’]t) (?:currently |yet )?(?:supported|available|enabled|allowed)`,
    'i',
  ),
  new RegExp(String.raw`no endpoints found that support ${kind}`, 'i'),
  new RegExp(
    String.raw`\bun(?:known|expected|supported|recogni[sz]ed) (?:variant|(?:(?:content|message|input|part|block|item) )+type):? ["'\x60]?${kind}\b(?!/)`,
    'i',
  ),
  new RegExp(String.raw`\bat most 0 ${kind}`, 'i'),
  new RegExp(String.raw`\b${kind}${INPUT} (?:is|are) only supported by certain models`, 'i'),
];
const NO_IMAGES = [
  ...takesNone(IMAGES),
  /not a (vision|multi-?modal) model|not compiled for multi-?modal|text[- ]only\b|only (supports?|accepts?|takes?) text/i,
  /only text (content|inputs?|messages?) (is|are) (supported|accepted|allowed)/i,
  /unsupported content\[\]\.type|unexpected item type in content/i,
  /missing data required for image|image input detected, but|mmproj/i,
  /不支持.{0,6}(图|视觉|多模态)/,
];
const NO_DOCUMENTS = [...takesNone(DOCUMENTS), /不支持.{0,6}(文件|文档|pdf)/i];

/** What a refusal of single images or documents speaks of, and what it says of them. */
const MEDIA =
  /(?<![a-z])(images?|pictures?|pdfs?|documents?|media|inline_?data|base64|jpe?g|png|gif|webp|图片?|图像|文档)(?![a-z])/i;
const FAULT =
  /(could|can|may|was|is|are|do|does)(?: not|n['’]t|not)|unable|failed|error|unsupported|invalid|malformed|corrupt|damaged|truncated|unrecogni[sz]ed|password|encrypted|exceed|too (many|much|large|big|small|long)|maximum|at most|limit|must be|should be|no pages|empty|mismatch|失败|无法|超过|不支持/i;
/** Something else than an image or a document, which may have one of those words in its name. */
const OTHER =
  /\b(tools|system|thinking|metadata)\.\d*|\btools?\b.{0,40}\b(name|schema|choice|parameters?|not found)|\bfunctions?\b.{0,20}\b(name|parameters?)|\bschema\b|max(imum)?_(output_|completion_)?tokens|\b(api key|credential|signature|cache_control|tool_use_id|tool_choice)/i;
/** A request that is too large in bytes: mostly its media are. */
const TOO_BIG =
  /(request|payload|body) (size )?(exceeds|is too large|too large)|(payload|body|entity) (is )?too large|request_too_large/i;
const PLACE = /\bmessages\.\d+\.content\.\d+(?:(?:\.tool_result)?\.content\.\d+)?/g;

/**
 * What a refusal says that the API does not take of a request's media; null if it speaks of something else. Where it names no place,
 * the media of the newest message are meant: the API has accepted the others before.
 * @param earlier refusals of media in the turn
 */
export function refusedMedia(
  { body, status }: { body: unknown; status: number | null },
  media: readonly PlacedMedia[],
  earlier: number,
): RefusedMedia | null {
  if (media.length === 0 || (status !== null && !STATUSES.has(status))) return null;
  const reason = refusalReason(body);
  // A code, such as invalid_image_format.
  const said = `${reason} ${(refusalType(body) ?? '').slice(0, 128).replaceAll('_', ' ')}`;
  if (saysLimit(said)) return null;
  const places = [...reason.matchAll(PLACE)].map(([place]) => place.replace('.tool_result', ''));
  const named = media.filter(({ path }) => places.some((place) => `${path}.`.startsWith(`${place}.`)));
  if (places.length > 0 && named.length === 0) return null;
  const isNamed = named.length > 0 && places.some((place) => named.some(({ path }) => path === place));
  const isSize = status === 413 || TOO_BIG.test(said);
  if (!isNamed && !isSize) {
    if (OTHER.test(said) || saysTooLong(body, status)) return null;
    const kinds = kindsWithout(said);
    if (kinds.length > 0) return { keys: [], kinds };
    if (status === 404 || !MEDIA.test(said) || !FAULT.test(said)) return null;
  }
  const refused = earlier >= MAX_REFUSALS ? media : named.length > 0 ? named : newest(media);
  return { keys: [...new Set(refused.map(({ key }) => key))], kinds: [] };
}

/** A model without eyes cannot read PDFs either. What is said of results of tools does not count for attachments. */
function kindsWithout(said: string): RefusedMedia['kinds'] {
  if (/\btool\b|tool_result/i.test(said)) return [];
  if (NO_IMAGES.some((pattern) => pattern.test(said))) return ['image', 'document'];
  return NO_DOCUMENTS.some((pattern) => pattern.test(said)) ? ['document'] : [];
}

function newest(media: readonly PlacedMedia[]): PlacedMedia[] {
  const messageOf = ({ path }: PlacedMedia): string => path.split('.', 2)[1]!;
  const last = messageOf(media.at(-1)!);
  return media.filter((one) => messageOf(one) === last);
}
