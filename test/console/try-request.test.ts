import { expect } from 'chai';
import { openApiDocument } from '../../api/http/openapi/openapi.js';
import { routes } from '../../api/routes.js';
import { entriesOf, type OpenApi } from '../../console/src/docs/document.js';
import { canTry, requestOf } from '../../console/src/docs/try-request.js';

describe('a request that the page /docs sends', () => {
  const document = openApiDocument(routes) as unknown as OpenApi;
  const entries = entriesOf(document);
  const entryOf = (id: string) => entries.find(({ operation }) => operation.operationId === id)!;
  const servers = [{ url: 'http://127.0.0.1:8080' }];

  it('a request that the page /docs sends has its path, query, headers, body and key', () => {
    const values = { session_id: 'ses_a/b', 'Idempotency-Key': 'job 1', limit: '' };
    expect(requestOf(entryOf('sendMessage'), { servers }, values, '{"content":"Hi"}', ' ask_1 ')).to.deep.equal({
      url: 'http://127.0.0.1:8080/v1/sessions/ses_a%2Fb/messages',
      init: {
        method: 'POST',
        headers: { Authorization: 'Bearer ask_1', 'Content-Type': 'application/json', 'Idempotency-Key': 'job 1' },
        body: '{"content":"Hi"}',
      },
    });
    const list = requestOf(entryOf('listSessions'), { servers }, { status: 'IDLE', q: 'a b', limit: '' }, '', 'k');
    expect(list.url).to.equal('http://127.0.0.1:8080/v1/sessions?status=IDLE&q=a+b');
    expect(list.init).to.deep.equal({ method: 'GET', headers: { Authorization: 'Bearer k' } });
    expect(() => requestOf(entryOf('sendMessage'), { servers }, values, '{', 'k')).to.throw(SyntaxError);
  });

  it('a request that the page /docs sends is neither a file, nor a stream, nor a link', () => {
    const left = entries.filter((entry) => !canTry(entry)).map(({ operation }) => operation.operationId);
    expect(left).to.include.members(['uploadFile', 'uploadSkill', 'downloadFile', 'streamEvents', 'fileContent']);
    for (const id of ['createSession', 'deleteSession', 'listModels', 'updateSession', 'cancelTurn']) {
      expect(left).to.not.include(id);
    }
  });
});
