import type { DataSource, EntityManager, ObjectLiteral, SelectQueryBuilder, UpdateQueryBuilder } from 'typeorm';

/** The pool of connections: each statement goes over one that is free. `transaction` makes a `Tx` of it. */
export type Database = DataSource;
/** A transaction under way. */
export type Tx = EntityManager;
/** What runs a statement: the pool or a transaction. */
export type Db = Database | Tx;

export type SelectQuery<Row extends ObjectLiteral> = SelectQueryBuilder<Row>;
export type UpdateQuery<Row extends ObjectLiteral> = UpdateQueryBuilder<Row>;
export type { ObjectLiteral, QueryRunner } from 'typeorm';

/** Conditions of a repository's `where`. */
export { In, IsNull, MoreThan, Not } from 'typeorm';
