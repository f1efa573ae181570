import type { Db } from '../../src/db/transaction.js';
import type { ServiceError } from '../../src/platform/errors.js';
import type { Call } from './operation.js';

/** The part of a call that names a resource. */
export type PathOf = Pick<Call, 'deps' | 'caller' | 'params'>;

/**
 * Makes the function that finds the resource which a path names by `param`. What is missing, deleted or of another project
 * gets one answer: the error that `notFound` makes.
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
