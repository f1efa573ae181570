import { objectSchema } from '../../src/platform/object-schema.js';
import { linkSeconds } from '../../src/files/store.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import { fileOfPath } from './resource.js';

const linkSchema = {
  $id: 'DownloadLink',
  description: 'Where to download a file.',
  ...objectSchema({ url: { type: 'string', description: 'Signed link to the content; it needs no key.' } }),
  examples: [
    {
      url: 'https://agents.example.com/files/file_01kag8x5t6y7u8i9o0p1a2s3d4?expires=1795254420&signature=4f1c…',
    },
  ],
} as const satisfies JsonSchema;

/**
 * GET /v1/files/{file_id}/link: the redirect target of GET …/content as JSON, because a browser script cannot read a
 * redirect.
 */
export const getDownloadLink = operation({
  id: 'getDownloadLink',
  summary: 'Get the download link of a file',
  description: 'For browsers, whose scripts cannot read a redirect: the link as JSON. It needs no key.',
  success: {
    status: 200,
    description: 'The link, valid for one hour, with a session token until the token ends.',
    schema: linkSchema,
  },
  errors: ['file_not_found', 'storage_error'],
  resource: fileOfPath,
  handle: async ({ deps, caller, resource }) => ({
    url: await deps.storage.downloadUrl(resource, linkSeconds(caller.token)),
  }),
});
