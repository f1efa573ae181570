import type { Db } from './db.js';

/**
 * Tables (columns and constraints), functions, triggers and indexes of the schema that holds the table `migrations`, each with a
 * hash of its definition. Left out is what operators may change and what differs between versions of Postgres: owners,
 * grants, storage parameters, the names of not-null constraints.
 */
const OBJECTS = `
  WITH relations AS (
    SELECT c.oid, c.relname, c.relkind FROM pg_class c
    WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('migrations'))),
  definitions (object, line) AS (
    SELECT 'table ' || relname, concat_ws(' ', 'column', attname, format_type(atttypid, atttypmod), attnotnull,
      attidentity, attgenerated, collname, pg_get_expr(adbin, adrelid))
    FROM relations JOIN pg_attribute ON attrelid = oid LEFT JOIN pg_collation ON pg_collation.oid = attcollation
      LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE relkind IN ('r', 'p') AND attnum > 0 AND NOT attisdropped
    UNION ALL
    SELECT 'table ' || relname, concat_ws(' ', 'constraint', conname, pg_get_constraintdef(pg_constraint.oid))
    FROM relations JOIN pg_constraint ON conrelid = relations.oid WHERE contype IN ('c', 'f', 'p', 'u')
    UNION ALL
    SELECT 'index ' || relname, pg_get_indexdef(oid, 0, true) FROM relations WHERE relkind IN ('i', 'I')
    UNION ALL
    SELECT 'trigger ' || tgname, pg_get_triggerdef(pg_trigger.oid, true)
    FROM relations JOIN pg_trigger ON tgrelid = relations.oid WHERE NOT tgisinternal
    UNION ALL
    SELECT 'function ' || proname, concat_ws(' ', pg_get_function_arguments(pg_proc.oid), pg_get_function_result(pg_proc.oid),
      lanname, provolatile, prorows, prosrc)
    FROM pg_proc JOIN pg_language ON pg_language.oid = prolang
    WHERE pronamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('migrations')))
  SELECT object, substr(encode(sha256(convert_to(string_agg(line, E'\\n' ORDER BY line COLLATE "C"), 'UTF8')), 'hex'), 1, 16) AS hash
  FROM definitions GROUP BY object`;

/** The hash of each object's definition, by kind and name: `table turns`. */
export async function schemaObjects(db: Db): Promise<Map<string, string>> {
  const rows = await db.query<{ object: string; hash: string }[]>(OBJECTS);
  return new Map(rows.map(({ object, hash }) => [object, hash]));
}
