/** SQL that is true if calls may use the credential `c` of a user, whose OAuth row, if any, is `o`. */
export const USABLE_CREDENTIAL = `(c.refused_at IS NULL AND (c.auth_type <> 'OAUTH' OR o.authorized_at IS NOT NULL))`;
