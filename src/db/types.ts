import pg from 'pg';
import { isoFromPostgres } from '../platform/timestamps.js';

const { builtins, getTypeParser } = pg.types;

/**
 * How values leave Postgres, for typeorm's pool and for plain clients alike: timestamptz as ISO text with microseconds
 * (pg's own parser makes a Date and loses them), bigint as a number (nothing here counts past 2^53).
 */
export const typeParsers: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary'): unknown => {
    if (format !== 'binary' && oid === (builtins.TIMESTAMPTZ as number)) return isoFromPostgres;
    if (format !== 'binary' && oid === (builtins.INT8 as number)) return Number;
    return getTypeParser(oid, format);
  }) as pg.CustomTypesConfig['getTypeParser'],
};
