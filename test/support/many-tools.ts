import { NO_ANNOTATIONS } from '../../src/mcp/asked-tool.js';
import type { McpServerTool } from '../../activities/tools/mcp/names.js';

/** A tool as an MCP server lists it. */
export interface ListedTool {
  name: string;
  description: string;
  inputSchema: { type: 'object'; properties: Record<string, object>; required: string[] };
}

interface Family {
  /** Name under which the server is registered. */
  server: string;
  /** What it calls itself in descriptions. */
  product: string;
  /** Singular names of its resources. */
  things: string[];
  /** Fields that its resources have. */
  fields: string[];
}

/** Modelled on servers that are published: what they are about, how they name tools and arguments. */
const FAMILIES: Family[] = [
  [
    'github',
    'a GitHub repository',
    'issue pull_request branch commit release workflow_run label milestone gist discussion code_scanning_alert fork review tag',
    'owner repo title body state assignee labels',
  ],
  [
    'gitlab',
    'a GitLab project',
    'merge_request pipeline job runner epic wiki_page snippet environment deploy_key protected_branch variable package iteration board',
    'project_id ref title description state',
  ],
  [
    'jira',
    'Jira',
    'ticket sprint worklog project component version filter dashboard issue_link attachment watcher transition screen workflow',
    'project_key summary description priority assignee_id',
  ],
  [
    'slack',
    'a Slack workspace',
    'channel direct_message thread_reply reaction pin reminder user_group bookmark canvas huddle emoji scheduled_message status bot_profile',
    'channel_id text thread_ts user_id',
  ],
  [
    'notion',
    'Notion',
    'page database block comment property view teamspace page_template synced_block relation person file_upload formula rollup',
    'page_id parent_id title content properties',
  ],
  [
    'linear',
    'Linear',
    'cycle initiative project_update roadmap triage_item team_label estimate favorite document attachment_link customer_request workflow_state team_member sub_issue',
    'team_id title description priority state_id',
  ],
  [
    'stripe',
    'Stripe',
    'customer invoice payment_intent refund subscription coupon price product payout dispute payment_link balance_transaction tax_rate checkout_session',
    'amount currency customer_id description metadata',
  ],
  [
    'postgres',
    'a PostgreSQL database',
    'table index schema_object role extension trigger view_definition sequence partition publication slow_query lock replica backup',
    'database schema_name name definition',
  ],
  [
    'filesystem',
    'the file system',
    'file directory symlink archive permission checksum watch mount trash_entry temp_file disk_quota encoding media_file text_range',
    'path destination recursive encoding',
  ],
  [
    'browser',
    'a browser',
    'tab screenshot form_field cookie console_message network_request download dialog element viewport pdf_export page_snapshot hover_target keyboard_key',
    'url selector text timeout_ms',
  ],
  [
    'sentry',
    'Sentry',
    'error_event issue_alert release_health replay performance_trace profile crash_report team dsn_key monitor_checkin source_map ownership_rule feedback stack_frame',
    'organization_slug project_slug query environment',
  ],
  [
    'kubernetes',
    'a Kubernetes cluster',
    'pod deployment service ingress config_map secret node namespace job cron_job persistent_volume helm_release event role_binding',
    'namespace name label_selector manifest',
  ],
  [
    'aws',
    'AWS',
    's3_object ec2_instance lambda_function iam_policy cloudwatch_alarm dynamodb_item sqs_queue sns_topic rds_snapshot route53_record vpc_subnet ecr_image cost_report step_function',
    'region name arn tags',
  ],
  [
    'gmail',
    'Gmail',
    'email draft mail_label mail_thread mail_filter mail_attachment forwarding_address signature vacation_responder delegate spam_report contact_photo send_as_alias inbox_rule',
    'to subject body message_id',
  ],
  [
    'calendar',
    'Google Calendar',
    'calendar_event attendee free_busy_slot recurring_event calendar_share meeting_room out_of_office working_location task_list appointment_schedule event_color notification_rule time_zone holiday',
    'calendar_id start end summary attendees',
  ],
  [
    'drive',
    'Google Drive',
    'document spreadsheet slide_deck shared_drive folder file_revision file_permission drive_comment shortcut drive_label export approval_request drive_activity star',
    'file_id folder_id name mime_type',
  ],
  [
    'salesforce',
    'Salesforce',
    'lead opportunity account case campaign contact_record quote order contract report_run territory forecast price_book apex_job',
    'object_id name owner_id stage',
  ],
  [
    'hubspot',
    'HubSpot',
    'deal company marketing_email contact_list landing_page ticket_pipeline form_submission call_log quote_line blog_post workflow_enrollment meeting_link engagement_note owner',
    'properties associations email pipeline',
  ],
  [
    'figma',
    'Figma',
    'frame figma_component style_token prototype_flow figma_comment team_library variable_collection image_fill vector_node design_version dev_resource page_node text_layer grid',
    'file_key node_id name',
  ],
  [
    'datadog',
    'Datadog',
    'metric monitor_alert log_query apm_span dashboard_widget synthetic_test incident slo downtime host_map notebook security_signal service_check usage_report',
    'query from to tags',
  ],
].map(([server, product, things, fields]) => ({
  server: server!,
  product: product!,
  things: things!.split(' '),
  fields: fields!.split(' '),
}));

type Verb = readonly [verb: string, isPlural: boolean, text: (thing: string, product: string) => string, own: string[]];
const VERBS: readonly Verb[] = [
  ['create', false, (thing, product) => `Create a new ${thing} in ${product}. Returns the ${thing} with its id.`, []],
  ['get', false, (thing, product) => `Get the details of one ${thing} in ${product}, by its id.`, ['id']],
  [
    'list',
    true,
    (thing, product) => `List ${thing} in ${product}, newest first, with pagination.`,
    ['page', 'per_page'],
  ],
  [
    'update',
    false,
    (thing, product) => `Update fields of an existing ${thing} in ${product}. Only the given fields change.`,
    ['id'],
  ],
  [
    'delete',
    false,
    (thing, product) => `Permanently delete a ${thing} from ${product}. This cannot be undone.`,
    ['id'],
  ],
  [
    'search',
    true,
    (thing, product) => `Search for ${thing} in ${product} that match a query, sorted by relevance.`,
    ['query', 'sort', 'limit'],
  ],
  [
    'export',
    true,
    (thing, product) => `Export ${thing} of ${product} as CSV or JSON for download.`,
    ['format', 'since'],
  ],
  [
    'archive',
    false,
    (thing, product) => `Archive a ${thing} in ${product}, so that it is hidden and can be restored.`,
    ['id', 'reason'],
  ],
  [
    'share',
    false,
    (thing, product) => `Share a ${thing} of ${product} with other people, or change who has access.`,
    ['id', 'email', 'role'],
  ],
];

export const TOOLS_OF_FAMILY = 125;

/** 125 tools of each of twenty servers: 2,500. */
export function manyTools(): { server: string; tools: ListedTool[] }[] {
  return FAMILIES.map(({ server, product, things, fields }) => ({
    server,
    tools: things
      .flatMap((thing) => VERBS.map((verb) => toolOf(verb, thing, product, fields)))
      .slice(0, TOOLS_OF_FAMILY),
  }));
}

function toolOf([verb, isPlural, describe, own]: Verb, thing: string, product: string, fields: string[]): ListedTool {
  const words = thing.replaceAll('_', ' ');
  const shown = isPlural ? plural(words) : words;
  const names = [...new Set([...own, ...fields])];
  const properties = Object.fromEntries(
    names.map((name) => [
      name,
      { type: typeOf(name), description: `The ${name.replaceAll('_', ' ')} of the ${words}.` },
    ]),
  );
  return {
    name: `${verb}_${isPlural ? plural(thing) : thing}`,
    description: describe(shown, product),
    inputSchema: { type: 'object', properties, required: own.includes('id') ? ['id'] : names.slice(0, 1) },
  };
}

function typeOf(name: string): string {
  if (['page', 'per_page', 'limit', 'amount', 'timeout_ms'].includes(name)) return 'integer';
  return name === 'recursive' ? 'boolean' : 'string';
}

function plural(word: string): string {
  if (word.endsWith('y')) return `${word.slice(0, -1)}ies`;
  return /(?:s|x|ch)$/.test(word) ? `${word}es` : `${word}s`;
}

/** All of them as tools of a turn, in order. */
export function manyServerTools(): McpServerTool[] {
  return manyTools().flatMap(({ server, tools }) =>
    tools.map(({ name, description, inputSchema }) => ({
      ...{ name: `mcp__${server}__${name}`, description, inputSchema: { ...inputSchema } },
      ...{
        serverId: `mcp_${server}`,
        serverName: server,
        toolName: name,
        title: null,
        shownAnnotations: NO_ANNOTATIONS,
        repeatable: false,
        mayBeTask: false,
        asUser: false,
      },
    })),
  );
}

/** What an agent searches for when it has a task, and the tool that does it. */
export const TASKS: readonly (readonly [query: string, tool: string])[] = [
  ['create github issue', 'mcp__github__create_issue'],
  ['open pull request', 'mcp__github__create_pull_request'],
  ['list branches of a github repository', 'mcp__github__list_branches'],
  ['delete github release', 'mcp__github__delete_release'],
  ['get workflow run details', 'mcp__github__get_workflow_run'],
  ['merge request gitlab create', 'mcp__gitlab__create_merge_request'],
  ['list gitlab pipelines', 'mcp__gitlab__list_pipelines'],
  ['gitlab wiki page update', 'mcp__gitlab__update_wiki_page'],
  ['jira create ticket', 'mcp__jira__create_ticket'],
  ['search jira tickets', 'mcp__jira__search_tickets'],
  ['log work jira worklog create', 'mcp__jira__create_worklog'],
  ['jira sprint list', 'mcp__jira__list_sprints'],
  ['create slack channel', 'mcp__slack__create_channel'],
  ['slack reply in thread', 'mcp__slack__create_thread_reply'],
  ['add reaction slack', 'mcp__slack__create_reaction'],
  ['schedule a message in slack create scheduled', 'mcp__slack__create_scheduled_message'],
  ['notion page create', 'mcp__notion__create_page'],
  ['search notion databases', 'mcp__notion__search_databases'],
  ['add comment notion', 'mcp__notion__create_comment'],
  ['linear cycle list', 'mcp__linear__list_cycles'],
  ['create linear sub issue', 'mcp__linear__create_sub_issue'],
  ['refund a payment in stripe', 'mcp__stripe__create_refund'],
  ['list stripe invoices of a customer', 'mcp__stripe__list_invoices'],
  ['create stripe subscription', 'mcp__stripe__create_subscription'],
  ['stripe customer search', 'mcp__stripe__search_customers'],
  ['list postgres tables', 'mcp__postgres__list_tables'],
  ['slow queries of the database', 'mcp__postgres__list_slow_queries'],
  ['create index postgres', 'mcp__postgres__create_index'],
  ['delete file', 'mcp__filesystem__delete_file'],
  ['list directories', 'mcp__filesystem__list_directories'],
  ['take screenshot of the browser', 'mcp__browser__create_screenshot'],
  ['browser console messages', 'mcp__browser__list_console_messages'],
  ['sentry error events search', 'mcp__sentry__search_error_events'],
  ['get sentry replay', 'mcp__sentry__get_replay'],
  ['list pods in kubernetes namespace', 'mcp__kubernetes__list_pods'],
  ['update kubernetes deployment', 'mcp__kubernetes__update_deployment'],
  ['get secret of the cluster', 'mcp__kubernetes__get_secret'],
  ['list ec2 instances', 'mcp__aws__list_ec2_instances'],
  ['get s3 object', 'mcp__aws__get_s3_object'],
  ['aws lambda function update', 'mcp__aws__update_lambda_function'],
  ['search emails', 'mcp__gmail__search_emails'],
  ['create draft email', 'mcp__gmail__create_draft'],
  ['calendar event create', 'mcp__calendar__create_calendar_event'],
  ['find free busy slots', 'mcp__calendar__list_free_busy_slots'],
  ['share a document in google drive', 'mcp__drive__share_document'],
  ['create spreadsheet', 'mcp__drive__create_spreadsheet'],
  ['salesforce opportunity update', 'mcp__salesforce__update_opportunity'],
  ['list deals hubspot', 'mcp__hubspot__list_deals'],
  ['figma comment create', 'mcp__figma__create_figma_comment'],
  ['datadog incident create', 'mcp__datadog__create_incident'],
];
