import pg from 'pg';
import { isoFromPostgres } from '../platform/timestamps.js';

const { builtins, getTypeParser } = pg.types;

/**
 * Type parsers for typeorm's pool and for plain clients: timestamptz as ISO text with microseconds (pg's own parser
 * returns a Date, which loses them), bigint as a number (no value here exceeds 2^53).
 */
export const typeParsers: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary'): unknown => {
    if (format !== 'binary' && oid === (builtins.TIMESTAMPTZ as number)) return isoFromPostgres;
    if (format !== 'binary' && oid === (builtins.INT8 as number)) return Number;
    return getTypeParser(oid, format);
  }) as pg.CustomTypesConfig['getTypeParser'],
};
