import type { ModelAnswer } from '../../src/models/content.js';
import { withSpan } from '../../src/platform/tracing.js';
import type { ModelCall } from '../../src/steps/model-call.js';
import type { ModelClient } from './clients.js';

/** Runs a model call in a span, named as OpenTelemetry's conventions for generative AI say. It has no content. */
export function withChatSpan<T>(
  { entry }: ModelClient,
  { sessionId, projectId, step, failures }: ModelCall,
  answer: ModelAnswer,
  work: () => Promise<T>,
): Promise<T> {
  const { provider = 'anthropic' } = entry;
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': typeof provider === 'object' && 'google_vertex' in provider ? 'gcp.vertex_ai' : 'anthropic',
    'gen_ai.request.model': entry.model,
    'gen_ai.conversation.id': sessionId,
    project_id: projectId,
    step,
    attempt: failures + 1,
  };
  return withSpan(`chat ${entry.model}`, attributes, async (span) => {
    try {
      return await work();
    } finally {
      const { usage, stopReason } = answer;
      span.setAttributes({
        'gen_ai.usage.input_tokens':
          usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
        'gen_ai.usage.output_tokens': usage.output_tokens,
        'gen_ai.usage.cache_read.input_tokens': usage.cache_read_input_tokens,
        'gen_ai.usage.cache_creation.input_tokens': usage.cache_creation_input_tokens,
        ...(stopReason !== null && { 'gen_ai.response.finish_reasons': [stopReason] }),
      });
    }
  });
}
