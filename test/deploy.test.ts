import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { parse, parseAllDocuments } from 'yaml';
import { registry } from '../src/metrics.js';

const root = new URL('../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

interface Rule {
  alert: string;
  expr: string;
}
const rules = (parse(read('deploy/prometheus/alerts.yml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);

describe('deployment files', () => {
  it('have a paragraph in the runbook for each alert, and no other', () => {
    const headings = [...read('docs/operations/runbook.md').matchAll(/^## (\w+)\n\S/gm)].map(([, name]) => name);
    expect(headings).to.deep.equal(rules.map(({ alert }) => alert));
  });

  it('ask only for metrics that exist', () => {
    const names = registry.getMetricsAsArray().map(({ name }) => name);
    for (const text of [
      ...rules.map(({ expr }) => expr),
      read('deploy/kubernetes/api.yaml'),
      read('deploy/kubernetes/worker.yaml'),
    ]) {
      for (const [name] of text.matchAll(/\b[a-z]+(_[a-z0-9]+)+(?=[{[])/g)) {
        expect(names, name).to.include(name.replace(/_(bucket|count|sum)$/, ''));
      }
    }
  });

  it('are YAML, give processes longer than they take to drain, and no rights', () => {
    for (const file of readdirSync(new URL('deploy/kubernetes/', root))) {
      for (const document of parseAllDocuments(read(`deploy/kubernetes/${file}`))) {
        expect(document.errors).to.deep.equal([]);
        const pod = document.getIn(['spec', 'template', 'spec']) as { toJSON(): Pod } | undefined;
        if (document.get('kind') === 'Deployment') checkPod(pod!.toJSON());
      }
    }
  });
});

interface Pod {
  terminationGracePeriodSeconds: number;
  securityContext: { runAsNonRoot: boolean };
  containers: { env: { name: string; value: string }[]; securityContext: { readOnlyRootFilesystem: boolean } }[];
}

function checkPod({ terminationGracePeriodSeconds, securityContext, containers: [container] }: Pod): void {
  const grace = Number(container!.env.find(({ name }) => name === 'SHUTDOWN_GRACE_SECONDS')!.value);
  expect(terminationGracePeriodSeconds).to.be.greaterThan(grace + 5);
  expect(securityContext.runAsNonRoot).to.equal(true);
  expect(container!.securityContext.readOnlyRootFilesystem).to.equal(true);
}
