import { payloadSchema } from '../../../src/webhooks/payload.js';
import type { JsonSchema } from '../core/operation.js';

const HEADERS = {
  'webhook-id': 'Id of the delivery, the same in each attempt.',
  'webhook-timestamp': 'When the attempt was made, in seconds since 1970.',
  'webhook-signature': 'Signatures by the Standard Webhooks specification, separated by spaces.',
};

/** The request that the service sends to a webhook, as an OpenAPI path item. */
export const webhookRequest = (operationId: string): JsonSchema => ({
  post: {
    operationId,
    summary: 'Sent to the url of a webhook for each event of its types',
    description:
      'Verify the signature with the webhook’s secret before you trust the body. Answer with 2xx within 15 seconds. An attempt may arrive twice: `webhook-id` is the same.',
    security: [],
    parameters: Object.entries(HEADERS).map(([name, description]) => ({
      name,
      in: 'header',
      required: true,
      description,
      schema: { type: 'string' },
    })),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: payloadSchema, example: payloadSchema.examples[0] } },
    },
    responses: {
      '2XX': { description: 'The delivery is done.' },
      '410': { description: 'The webhook is disabled.' },
      default: { description: 'The attempt failed and is retried later.' },
    },
  },
});
