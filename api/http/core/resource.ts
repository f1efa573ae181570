import type { Db } from '../../../src/db/db.js';
import type { ServiceError } from '../../../src/platform/errors.js';
import type { Call } from './operation.js';

export type PathOf = Pick<Call, 'deps' | 'caller' | 'params'>;

/**
 * Creates a function that finds the resource with the id in the path parameter `param`. If it is missing, deleted or in
 * another project, the function throws the error from `notFound`.
 */
export function resourceOfPath<Row>(
  param: string,
  find: (db: Db, projectId: string, id: string) => Promise<Row | null>,
  notFound: (ids: string[]) => ServiceError,
): (path: PathOf) => Promise<Row> {
  return async ({ deps, caller, params }) => {
    const id = params[param]!;
    const row = await find(deps.db, caller.projectId, id);
    if (row === null) throw notFound([id]);
    return row;
  };
}
