import { expect } from 'chai';
import fc from 'fast-check';
import type { JsonSchema, Route } from '../../../api/http/core/operation.js';
import { routes } from '../../../api/routes.js';
import { useService } from '../../support/use.js';

const nasty = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.constantFrom(
    '',
    '\0',
    '\ud800',
    '\u202e',
    '__proto__',
    'NaN',
    '-1',
    '0',
    '1e9',
    "' OR 1=1 --",
    '../..',
    '%00',
    '{}',
  ),
);

describe('hostile input to every operation gets a documented 4xx', () => {
  let sessionId: string;
  const service = useService();
  before(async () => {
    sessionId = (await service.api('POST', '/v1/sessions', { model_id: 'test-model' })).body.id as string;
  });

  const target = (path: string, param: string): string =>
    path.replace('{session_id}', sessionId).replaceAll(/\{\w+\}/g, encodeURIComponent(param) || 'x');

  const withKey = routes.filter(([, , permission]) => permission !== null);
  for (const route of withKey.filter(([, , , , operation]) => operation.body !== undefined)) {
    const [method, path, , , { id, body }] = route;
    it(`${id} answers hostile bodies with a documented 4xx`, async () => {
      await fc.assert(
        fc.asyncProperty(bodiesOf(body!), nasty, async (sent, param) => {
          const { status } = await service.api(method, target(path, param.toWellFormed()), JSON.stringify(sent));
          expect(status).to.be.within(200, 499);
        }),
        { numRuns: 30 },
      );
    });
  }

  // A stream lasts as long as its turn. Here its session does not exist.
  for (const route of withKey.filter(
    ([method, , , , { success }]) => method === 'GET' && success.mediaType === undefined,
  )) {
    const [method, path, , , { id }] = route;
    it(`${id} answers hostile ids and queries with a documented 4xx`, async () => {
      await fc.assert(
        fc.asyncProperty(nasty, nasty, nasty, async (param, name, value) => {
          const query = new URLSearchParams(
            [...queryNames(route), name].map((key) => [key, value] as [string, string]),
          );
          const odd = path.replaceAll(/\{\w+\}/g, encodeURIComponent(param.toWellFormed()) || 'x');
          const { status } = await service.api(method, `${odd}?${query.toString()}`);
          expect(status).to.be.within(200, 499);
        }),
        { numRuns: 30 },
      );
    });
  }
});

/** Objects with the operation's own fields, each holding anything. */
function bodiesOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  const names = Object.keys(schema.properties as object);
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      nasty,
      fc.constantFrom(null, true, 0, -1, 1e308),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fc.oneof(fc.constantFrom(...names, 'type', 'id', 'token'), nasty), tie('value'), { maxKeys: 4 }),
    ),
  })).value;
  const fields = Object.fromEntries(names.map((name) => [name, fc.oneof(nasty, value)]));
  return fc.oneof(value, fc.record(fields, { requiredKeys: [] }), fc.record(fields));
}

function queryNames([, , , , { query, paged }]: Route): string[] {
  return [...Object.keys(query?.properties ?? {}), ...(paged ? ['limit', 'cursor'] : [])];
}
