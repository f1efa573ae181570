import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { VERSION } from '../../src/platform/version.js';

/**
 * `npm run chart`: makes the templates of the Helm chart from the manifests of deploy/kubernetes, so that there is one description of
 * the pods. Each replacement must find its text: a manifest that changes fails here, and test/chart.test.ts compares what both make.
 */
export const CHART = new URL('agent-session-service/', import.meta.url);
const MANIFESTS = new URL('../kubernetes/', import.meta.url);
/** Written by hand: values.yaml, the helpers, and what only other clusters than GKE need. */
const BY_HAND = new Set(['_helpers.tpl', 'ingress.yaml', 'NOTES.txt']);

type Replacement = readonly [from: string, to: string];

const IMAGE: Replacement = [
  'REGION-docker.pkg.dev/PROJECT/agent-session/agent-session-service@sha256:DIGEST',
  '{{ include "agent-session.image" . }}',
];
const accountOf = (role: string): Replacement => [
  `annotations: { iam.gke.io/gcp-service-account: agent-session-${role}@PROJECT.iam.gserviceaccount.com }`,
  `annotations: {{ toJson .Values.serviceAccounts.${role}.annotations }}`,
];
const databaseUrlOf = (role: string, indent: number, root = '.'): Replacement => [
  `            - name: DATABASE_URL\n              value: postgres://agent-session-${role}%40PROJECT.iam@DATABASE_HOST/service?sslmode=verify-full&sslrootcert=/etc/database/server-ca.pem`,
  `            {{- include "agent-session.databaseUrl" (list ${root} "${role}") | nindent ${indent} }}`,
];
const PROMETHEUS: Replacement = [
  'https://monitoring.googleapis.com/v1/projects/PROJECT/location/global/prometheus',
  '{{ $.Values.keda.prometheus }}',
];
const CA_MOUNT: Replacement = [
  '            - { name: database-ca, mountPath: /etc/database, readOnly: true }\n',
  '            {{- if $.Values.database.ca }}\n            - { name: database-ca, mountPath: /etc/database, readOnly: true }\n            {{- end }}\n',
];
const CA_VOLUME: Replacement = [
  '        - { name: database-ca, configMap: { name: database-ca } }\n',
  '        {{- if $.Values.database.ca }}\n        - { name: database-ca, configMap: { name: database-ca } }\n        {{- end }}\n',
];
const HOOK = 'helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation';

/** What of each manifest is a value, and the condition under which a document of it is made; by its kind and name. */
const FILES: Record<string, { replace: readonly Replacement[]; only?: Record<string, string>; all?: string }> = {
  'settings.yaml': {
    replace: [
      ...['api', 'worker', 'migrate'].map(accountOf),
      [
        'metadata:\n  name: migrate\n  namespace: agent-session\n  annotations: {{ toJson .Values.serviceAccounts.migrate.annotations }}',
        `metadata:\n  name: migrate\n  namespace: agent-session\n  annotations: {{ toJson (merge (dict "helm.sh/hook" "pre-install,pre-upgrade" "helm.sh/hook-weight" "-10" "helm.sh/hook-delete-policy" "before-hook-creation") (.Values.serviceAccounts.migrate.annotations | default dict)) }}`,
      ],
      [
        /^ {2}PUBLIC_URL:.*\n(?: {2}.*\n)*/m.exec(read('settings.yaml'))![0],
        '  {{- range $name, $value := .Values.settings }}\n  {{ $name }}: {{ $value | quote }}\n  {{- end }}\n',
      ],
    ],
    only: { 'Namespace agent-session': '.Values.createNamespace' },
  },
  'api.yaml': {
    replace: [
      IMAGE,
      databaseUrlOf('api', 12),
      ['  replicas: 2\n', '  replicas: {{ .Values.api.replicas }}\n'],
      [
        'resources:\n            requests: { cpu: 500m, memory: 512Mi, ephemeral-storage: 10Gi }\n            limits: { memory: 1Gi, ephemeral-storage: 10Gi }',
        'resources: {{ toJson .Values.api.resources }}',
      ],
      ['minReplicaCount: 2', 'minReplicaCount: {{ .Values.api.replicas }}'],
      ['maxReplicaCount: 10', 'maxReplicaCount: {{ .Values.api.maxReplicas }}'],
      PROMETHEUS,
      CA_MOUNT,
      CA_VOLUME,
    ],
    only: { 'ScaledObject api': '.Values.keda.enabled', 'TriggerAuthentication prometheus': '.Values.keda.enabled' },
  },
  'worker.yaml': {
    replace: [
      [IMAGE[0], '{{ include "agent-session.imageOf" (list $ .digest) }}'],
      databaseUrlOf('worker', 12, '$'),
      ['  replicas: 2\n', '  replicas: {{ $.Values.worker.replicas }}\n'],
      [
        "resources: { requests: { cpu: '1', memory: 1Gi }, limits: { memory: 2Gi } }",
        'resources: {{ toJson $.Values.worker.resources }}',
      ],
      ['minReplicaCount: 2', 'minReplicaCount: {{ $.Values.worker.replicas }}'],
      ['maxReplicaCount: 20', 'maxReplicaCount: {{ $.Values.worker.maxReplicas }}'],
      PROMETHEUS,
      CA_MOUNT,
      CA_VOLUME,
    ],
    only: { 'ScaledObject worker-BUILD': '$.Values.keda.enabled' },
  },
  'migrate.yaml': {
    replace: [
      IMAGE,
      databaseUrlOf('migrate', 12),
      [
        '{ name: DATABASE_AUTH, value: google_iam }',
        '{ name: DATABASE_AUTH, value: {{ .Values.settings.DATABASE_AUTH | default "password" }} }',
      ],
      [
        'metadata: { generateName: migrate-, namespace: agent-session }',
        `metadata: { name: migrate, namespace: agent-session, annotations: { ${HOOK} } }`,
      ],
      [
        'volumeMounts: [{ name: database-ca, mountPath: /etc/database, readOnly: true }]',
        'volumeMounts: {{ if .Values.database.ca }}[{ name: database-ca, mountPath: /etc/database, readOnly: true }]{{ else }}[]{{ end }}',
      ],
      [
        'volumes: [{ name: database-ca, configMap: { name: database-ca } }]',
        'volumes: {{ if .Values.database.ca }}[{ name: database-ca, configMap: { name: database-ca } }]{{ else }}[]{{ end }}',
      ],
    ],
  },
  'gateway.yaml': {
    replace: [['hostnames: [api.example.com]', 'hostnames: [{{ .Values.ingress.host }}]']],
    all: 'eq .Values.ingress.kind "gke"',
  },
  'monitoring.yaml': { replace: [], all: 'eq .Values.monitoring "google"' },
  'network-policy.yaml': {
    replace: [
      [
        '- from: [{ ipBlock: { cidr: 35.191.0.0/16 } }, { ipBlock: { cidr: 130.211.0.0/22 } }]',
        '- from: {{ toJson .Values.network.ingress }}',
      ],
      [
        '{ kubernetes.io/metadata.name: gmp-system }',
        '{ kubernetes.io/metadata.name: {{ .Values.network.monitoringNamespace }} }',
      ],
      [
        '- to: [{ ipBlock: { cidr: 10.40.0.0/20 } }]\n      ports: [{ port: 5432 }]',
        '- to: {{ toJson .Values.network.postgres.to }}\n      ports: [{ port: {{ .Values.network.postgres.port }} }]',
      ],
      [
        '- to: [{ ipBlock: { cidr: 10.10.0.0/20 } }]\n      ports: [{ port: 7233 }]',
        '- to: {{ toJson .Values.network.temporal }}\n      ports: [{ port: 7233 }]',
      ],
    ],
    all: '.Values.network.policies',
  },
  'sandbox.yaml': {
    replace: [
      [
        'REGION-docker.pkg.dev/PROJECT/agent-session/agent-session-sandbox@sha256:DIGEST',
        '{{ .Values.sandbox.image }}',
      ],
      [
        "{ name: SANDBOX_MEMORY_MB, value: '2048' }",
        '{ name: SANDBOX_MEMORY_MB, value: {{ .Values.sandbox.memoryMb | quote }} }',
      ],
      [
        "{ name: SANDBOX_DISK_MB, value: '1024' }",
        '{ name: SANDBOX_DISK_MB, value: {{ .Values.sandbox.diskMb | quote }} }',
      ],
      ['  replicas: 2\n', '  replicas: {{ .Values.sandbox.warmPods }}\n'],
      ['runtimeClassName: gvisor', 'runtimeClassName: {{ .Values.sandbox.runtimeClass }}'],
      ['- to: [{ ipBlock: { cidr: 172.16.0.0/28 } }]', '- to: {{ toJson .Values.sandbox.apiServer }}'],
    ],
    all: '.Values.sandbox.enabled',
  },
};

function read(name: string): string {
  return readFileSync(new URL(name, MANIFESTS), 'utf8');
}

/** The text of each template, by its file name. @throws if a manifest does not have the text of a replacement */
export function chartTemplates(): Record<string, string> {
  return Object.fromEntries(Object.keys(FILES).map((name) => [name, templateOf(name)]));
}

function templateOf(name: string): string {
  const { replace, only = {}, all } = FILES[name]!;
  let text = read(name);
  for (const [from, to] of replace) {
    if (!text.includes(from)) throw new Error(`deploy/kubernetes/${name} does not have: ${from}`);
    text = text.replaceAll(from, to);
  }
  text = text
    .replaceAll(/\bname: agent-session, labels/g, 'name: {{ $.Release.Namespace }}, labels')
    .replaceAll(/namespace: agent-session\b(?!-)/g, 'namespace: {{ $.Release.Namespace }}')
    .replaceAll(/metadata\.name: agent-session\b(?!-)/g, 'metadata.name: {{ $.Release.Namespace }}');
  const documents = text.split(/^---\n/m).map((document) => {
    const kind = /^kind: (\w+)/m.exec(document)?.[1];
    const named = /\bname: ([\w-]+|\{\{ \$\.Release\.Namespace \}\})/
      .exec(document)?.[1]
      ?.replace(/^\{.*/, 'agent-session');
    const condition = only[`${kind} ${named}`];
    return condition === undefined ? document : `{{- if ${condition} }}\n${document}{{- end }}\n`;
  });
  let body = documents.join('---\n');
  if (name === 'worker.yaml') {
    body = `{{- range .Values.worker.builds }}\n---\n${body.replaceAll('BUILD', '{{ .build }}').replaceAll('WORKER_{{ .build }}_ID', 'WORKER_BUILD_ID')}{{- end }}\n`;
  }
  if (all !== undefined) body = `{{- if ${all} }}\n${body}{{- end }}\n`;
  return `{{- /* Made from deploy/kubernetes/${name} by \`npm run chart\`. */}}\n${body}`;
}

export function chartYaml(): string {
  return `# Made by \`npm run chart\`.
apiVersion: v2
name: agent-session-service
description: Runs LLM agents in durable conversations. Needs Postgres, a Temporal server and a storage.
type: application
version: ${VERSION}
appVersion: ${VERSION}
kubeVersion: '>=1.30.0-0'
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = new URL('templates/', CHART);
  for (const [name, text] of Object.entries(chartTemplates())) writeFileSync(new URL(name, folder), text);
  writeFileSync(new URL('Chart.yaml', CHART), chartYaml());
  const strange = readdirSync(folder).filter((name) => !(name in FILES) && !BY_HAND.has(name));
  if (strange.length > 0) throw new Error(`no manifest is behind: ${strange.join(', ')}`);
}
