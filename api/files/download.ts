import { linkSeconds } from '../../src/files/store.js';
import { operation } from '../http/core/operation.js';
import { fileOfPath } from './resource.js';

/** GET /v1/files/{file_id}/content: redirects to a link that works for an hour without a key. */
export const downloadFile = operation({
  id: 'downloadFile',
  summary: 'Download a file',
  description:
    'Redirects to a link that needs no key, so that large files do not pass through the client’s credentials.',
  success: {
    status: 307,
    description: 'Location is a link to the content, valid for one hour, with a session token until the token ends.',
    headers: { Location: 'Signed link to the content; it needs no key.' },
  },
  errors: ['file_not_found', 'storage_error'],
  resource: fileOfPath,
  async handle({ deps, caller, ctx, resource }) {
    const location = await deps.storage.downloadUrl(resource, linkSeconds(caller.token));
    ctx.status = 307;
    ctx.set('Location', location);
    ctx.set('Cache-Control', 'no-store');
    ctx.body = '';
    ctx.remove('Content-Type');
  },
});
