import { expect } from 'chai';
import { useDatabase, usePool } from '../support/use.js';

/**
 * What becomes of each column when a person is erased. `goes`: the row is deleted. `emptied`: the column is. `kept`: it has nothing of a
 * person, but ids, times, counts and costs, or it belongs to the project.
 */
type Fate = 'goes' | 'emptied' | 'kept';

/** All columns of a table share a fate, but for those that are named. A new table or column has to be classified here. */
const TABLES: Record<string, { columns: string; fate: Fate; emptied?: string[] }> = {
  // With their session: src/sessions/purge.ts.
  sessions: {
    columns:
      'id project_id model_id thinking_enabled instruction mcp_servers metadata tools model_tools currency end_user fallback_model_ids budget page_bytes turn_count last_turn_id preview preview_folded forked_from_session_id forked_from_turn_id metadata_terms created_at metadata_updated_at deleted_at configuration_id agent_id agent_version overrides_number parent_session_id',
    fate: 'goes',
  },
  session_states: {
    columns: 'session_id project_id state created_at active_at preview_folded row_bytes is_child',
    fate: 'goes',
  },
  configurations: {
    columns:
      'id model_id thinking_enabled instruction mcp_servers tools model_tools fallback_model_ids page_bytes skills agents',
    // Those of agents stay.
    fate: 'goes',
  },
  session_overrides: { columns: 'session_id number overrides', fate: 'goes' },
  remembered_approvals: {
    columns: 'session_id server_id tool_name number digest name tool_use_id actor created_at',
    fate: 'goes',
  },
  token_files: { columns: 'session_id file_id', fate: 'goes' },
  // A family is of one user. It goes with its last session.
  session_families: { columns: 'id project_id spent', fate: 'goes' },
  family_sessions: { columns: 'session_id family_id is_deleted', fate: 'goes' },
  turns: {
    columns:
      'id session_id project_id number state position trace model_id thinking_enabled fallback_model_id continues_turn_id message_number copied_from from_queue has_waiting end_reason queued_at started_at ended_at transition_at cancel_requested_at progress_at connected_at connect_ms first_token_at model_calls cost currency is_unpriced cost_before was_unpriced configuration_id agent_id agent_version overrides_number agent_skills sent_by_key sent_by_actor parent_turn_id has_children delegated_cost is_delegated_unpriced',
    fate: 'goes',
  },
  open_turns: {
    columns: 'turn_id session_id project_id namespace cancel_requested_at checked_at parent_turn_id parent_session_id',
    fate: 'goes',
  },
  events: {
    columns: 'id session_id turn_id turn_number position type data page_bytes created_at',
    fate: 'goes',
  },
  deltas: { columns: 'stored_at turn_id position call last message_id runs', fate: 'goes' },
  model_calls: {
    columns:
      'turn_id step position call message_id worker_id task_token started_at ended_at first_token_ms model_id usage cost currency error reserved',
    fate: 'goes',
  },
  model_steps: { columns: 'turn_id step message_id model_id content stop_reason', fate: 'goes' },
  tool_calls: {
    columns:
      'turn_id step index tool_use_id name input state content is_error holds_task overflow_key worker_id task_token started_at ended_at changed_input',
    fate: 'goes',
  },
  turn_servers: {
    columns: 'turn_id server_id index name toolset_hash offered_tools connected as_user required_approvals',
    fate: 'goes',
  },
  mcp_tasks: {
    columns:
      'turn_id step index server_id task_id mcp_session status message poll_ms shown_status shown_message shown_at lost_reads asked_at created_at ended_at cancelled_at',
    fate: 'goes',
  },
  turn_agents: {
    columns: 'turn_id index agent_id version name description permission_policy',
    fate: 'goes',
  },
  delegations: {
    columns:
      'turn_id step index agent_id agent_version child_session_id child_turn_id created_at shown_position shown_waits shown_at done_at',
    fate: 'goes',
  },
  waits: {
    columns:
      'turn_id step id session_id index tool_use_id kind ask during_call state outcome asked_at expires_at closed_at answer_position taken_at',
    fate: 'goes',
  },
  compactions: { columns: 'session_id turn_number summary created_at', fate: 'goes' },
  waiting_messages: {
    columns: 'id session_id turn_id steers arrival data trace created_at sent_by_key sent_by_actor',
    fate: 'goes',
  },
  token_streams: { columns: 'session_id slot stream_id lease', fate: 'goes' },
  workspaces: {
    columns:
      'session_id project_id version turn_number objects object_bytes cwd size_bytes file_count updated_at began is_counted',
    fate: 'goes',
  },
  kept_workspaces: {
    columns:
      'session_id turn_number project_id version objects object_bytes cwd size_bytes file_count updated_at own_bytes',
    fate: 'goes',
  },
  replaced_objects: { columns: 'key replaced_at', fate: 'goes' },
  webhook_deliveries: {
    columns:
      'id webhook_id project_id event_type event_id session_id turn_id metadata state attempts attempt_count pauses retry_requests next_attempt_at wake_at created_at',
    fate: 'goes',
  },
  idempotency_records: {
    columns: 'project_id path key request_hash created_at lease_until lease_id resource_id status response',
    fate: 'goes',
  },
  // By themselves: src/erasures/erase.ts.
  files: {
    columns:
      'id project_id filename mime_type size_bytes origin session_id token_session_id storage_key created_at deleted_at',
    fate: 'goes',
  },
  user_credentials: {
    columns:
      'id project_id mcp_server_id end_user auth_type auth_header credential credential_version refused_at last_used_at last_error created_at updated_at',
    fate: 'goes',
  },
  mcp_oauth: {
    columns:
      'id scopes client client_is_dynamic discovery redirect_uri tokens tokens_expire_at refresh_claim refresh_claimed_until authorized_at state_hash state_expires_at code_verifier begun_by',
    fate: 'goes',
  },
  memories: {
    columns:
      'id project_id end_user agent_id version file_count size_bytes version_count version_bytes created_at updated_at',
    fate: 'goes',
  },
  memory_files: {
    columns: 'memory_id path text size_bytes sha256 version created_version updated_at session_id turn_id key_id',
    fate: 'goes',
  },
  memory_versions: {
    columns:
      'memory_id version path change size_bytes sha256 text created_version created_at session_id turn_id key_id',
    fate: 'goes',
  },
  schedule_runs: {
    columns: 'schedule_id scheduled_at started_at state reason session_id turn_id is_settled',
    fate: 'goes',
  },
  erased_sessions: { columns: 'erasure_id session_id', fate: 'goes' },
  erased_files: { columns: 'erasure_id file_id', fate: 'goes' },
  // The row stays, as after DELETE, until maintenance removes it.
  schedules: {
    columns:
      'id project_id key_id name cron at timezone target session_id message overlap end_at state paused_reason next_run_at failures version synced_version refill_at checked_at created_at updated_at deleted_at',
    fate: 'kept',
    emptied: ['name', 'target', 'message'],
  },
  // The sums count in the group null.
  turn_usage: {
    columns:
      'turn_id model_id project_id session_id ended_at metadata model_calls input_tokens output_tokens cache_read_input_tokens cache_creation_input_tokens cost currency is_unpriced is_first is_summed agent_id agent_version',
    fate: 'kept',
    emptied: ['metadata'],
  },
  usage_sums: {
    columns:
      'project_id kind name day currency turns model_calls input_tokens output_tokens cache_read_input_tokens cache_creation_input_tokens cost unpriced',
    fate: 'kept',
    emptied: ['name'],
  },
  // It names the person for 30 days.
  erasures: {
    columns:
      'id project_id end_user attached_files sessions credentials memories files created_at finished_at touched_at usage_until',
    fate: 'kept',
    emptied: ['end_user'],
  },
  // Of the project and of the installation.
  projects: { columns: 'id name max_running_turns rate_per_minute created_at', fate: 'kept' },
  api_keys: {
    columns:
      'id project_id name key_hash scopes created_at expires_at revoked_at last_used_at created_by approver_groups',
    fate: 'kept',
  },
  agents: {
    columns: 'id project_id name version live_version created_at updated_at deleted_at',
    fate: 'kept',
  },
  agent_versions: { columns: 'agent_id version description created_at', fate: 'kept' },
  skills: {
    columns: 'id project_id name description size_bytes storage_key created_at deleted_at',
    fate: 'kept',
  },
  mcp_servers: {
    columns:
      'id project_id name url auth_type auth_header credential credential_version credentials allowed_tools tools tool_list toolset_hash tools_left_out pin_tools accepted_hash changed_tools page_bytes server_name last_probed_at last_connected_at last_connect_error created_at updated_at deleted_at required_approvals',
    fate: 'kept',
  },
  mcp_toolsets: { columns: 'server_id hash tools', fate: 'kept' },
  webhooks: {
    columns:
      'id project_id url event_types description enabled disabled_reason secret previous_secret previous_secret_until failing_since retries_until created_at updated_at deleted_at',
    fate: 'kept',
  },
  project_storage: { columns: 'project_id bytes row_bytes', fate: 'kept' },
  row_byte_changes: { columns: 'project_id bytes', fate: 'kept' },
  // Who acted for the back end, never for whom.
  audit_log: {
    columns:
      'id project_id created_at action outcome source key_id key_name actor resource_type resource_id session_id details request_id',
    fate: 'kept',
  },
  audit_refusals: { columns: 'key_id since entries', fate: 'kept' },
  rate_limits: { columns: 'key points expire', fate: 'kept' },
  leases: { columns: 'name holder since until', fate: 'kept' },
  workers: { columns: 'id namespace task_queue until is_draining dead_at', fate: 'kept' },
  installation: { columns: 'id is_only', fate: 'kept' },
  migrations: { columns: 'id timestamp name', fate: 'kept' },
};

/** docs/memory.md "Erasing a person": a table that a change adds and nobody thought of would keep what is to be erased. */
describe('the tables of an erasure', () => {
  const database = useDatabase();
  const db = usePool(database, 1);

  it('the tables of an erasure are all tables: each column is classified', async () => {
    const found = await db.query<{ table: string; columns: string }[]>(
      `SELECT table_name AS "table", string_agg(column_name, ' ' ORDER BY ordinal_position) AS columns
       FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
       WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name !~ '^(deltas|audit_log)_' GROUP BY 1`,
    );
    const classified = Object.fromEntries(Object.entries(TABLES).map(([table, { columns }]) => [table, columns]));
    const advice = 'what does an erasure do with it? Say it here, and do it in src/erasures or src/sessions/purge.ts';
    expect(Object.fromEntries(found.map(({ table, columns }) => [table, columns])), advice).to.deep.equal(classified);
    for (const [table, { columns, emptied = [] }] of Object.entries(TABLES))
      for (const column of emptied) expect(columns.split(' '), table).to.include(column);
  });
});
