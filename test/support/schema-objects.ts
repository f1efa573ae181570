import type { Db } from '../../src/db/db.js';

/**
 * The definitions of tables (columns, constraints and storage parameters), functions, triggers and indexes, without what the service
 * makes while it runs (partitions), what differs between versions of Postgres (the names of not-null constraints), and the layout of functions.
 */
const OBJECTS = `
  WITH relations AS (
    SELECT c.oid, c.relname, c.relkind, c.reloptions FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace AND NOT c.relispartition),
  definitions (object, line) AS (
    SELECT 'table ' || relname, concat_ws(' ', 'column', attname, format_type(atttypid, atttypmod), CASE WHEN attnotnull THEN 'not null' END,
      attidentity, attgenerated, collname, pg_get_expr(adbin, adrelid))
    FROM relations JOIN pg_attribute ON attrelid = oid LEFT JOIN pg_collation ON pg_collation.oid = attcollation
      LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE relkind IN ('r', 'p') AND attnum > 0 AND NOT attisdropped
    UNION ALL
    SELECT 'table ' || relname, concat_ws(' ', 'constraint', conname, pg_get_constraintdef(pg_constraint.oid), convalidated)
    FROM relations JOIN pg_constraint ON conrelid = relations.oid WHERE contype IN ('c', 'f', 'p', 'u')
    UNION ALL
    SELECT 'table ' || relname, 'option ' || option FROM relations CROSS JOIN LATERAL unnest(reloptions) AS option
    WHERE relkind IN ('r', 'p')
    UNION ALL
    SELECT 'index ' || relname, pg_get_indexdef(oid, 0, true) FROM relations WHERE relkind IN ('i', 'I')
    UNION ALL
    SELECT 'sequence ' || relname, '' FROM relations WHERE relkind = 'S'
    UNION ALL
    SELECT 'trigger ' || tgname, pg_get_triggerdef(pg_trigger.oid, true)
    FROM relations JOIN pg_trigger ON tgrelid = relations.oid WHERE NOT tgisinternal
    UNION ALL
    SELECT 'function ' || proname, regexp_replace(pg_get_functiondef(pg_proc.oid), '\\s+', ' ', 'g') FROM pg_proc WHERE pronamespace = 'public'::regnamespace)
  SELECT object, string_agg(line, E'\\n' ORDER BY line COLLATE "C") AS definition FROM definitions GROUP BY object ORDER BY object COLLATE "C"`;

/** The definition of each object, by kind and name: `table turns`. */
export async function schemaObjects(db: Db): Promise<Record<string, string>> {
  const rows = await db.query<{ object: string; definition: string }[]>(OBJECTS);
  return Object.fromEntries(rows.map(({ object, definition }) => [object, definition]));
}
